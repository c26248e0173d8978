// With what codes are made.
#pragma once

#include <cstdint>
#include <limits>

#include <nearfield/context.hpp>

#include "code/code_kernels.hpp"
#include "core/monitor.hpp"

namespace nearfield {

class LsqDevice;

// How often loops of one thread over all rows look at cancel and deadline: some ten milliseconds.
inline constexpr std::int64_t kRowsPerCheck = 1 << 10;

struct CodeWork {
  const CodeKernels& kernels;
  const Context& context;
  int threads;
  Monitor& monitor;
  LsqDevice* device = nullptr;  // of local search, if it is not the CPU
  // What the memory limit leaves beside what was counted.
  std::int64_t spare_bytes = std::numeric_limits<std::int64_t>::max();
};

// Floats as the caller's rows lie in memory, `stride` values from row to row.
struct FloatRows {
  const float* values;
  std::int64_t count;
  std::int64_t cols;
  std::int64_t stride;

  const float* row(std::int64_t i) const { return values + i * stride; }
  FloatRows columns(std::int64_t first, std::int64_t width) const {
    return {values + first, count, width, stride};
  }
};

}  // namespace nearfield
