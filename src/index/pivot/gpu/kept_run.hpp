// What a filter keeps of objects, in the memory of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "index/pivot/object_filter.hpp"

namespace nearfield {

// Of some rows, from a multiple of 64 on.
struct KeptRun {
  Range rows;
  std::unique_ptr<gpu::Buffer> blocks;   // of pivots
  std::unique_ptr<gpu::Buffer> letters;  // signatures

  // Takes the place of what it had. Until the queue is waited for, the filter must stay.
  void copy(const ObjectFilter& filter, Range rows, gpu::Device& device, gpu::Queue& queue);
};

// Throws unsupported for signatures that no kernel knows.
void check_kept_for_device(const ObjectFilter& filter, const ObjectMetric& metric);

// Of a row, rounded up.
std::int64_t kept_row_bytes(const ObjectFilter& filter);

// All `rows` in runs of at most so many, a multiple of 64. A file's rows and others lie apart.
std::vector<Range> kept_runs(const ObjectFilter& filter, std::int64_t rows, std::int64_t most);

}  // namespace nearfield
