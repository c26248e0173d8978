// Sums in float32 over one query and many rows: a fraction of what keys cost, with a known error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <nearfield/isa.hpp>
#include <nearfield/matrix.hpp>

namespace nearfield {

// A sum has so many partial sums on every ISA, so that one bound on its error holds for all.
inline constexpr std::int64_t kRoughParts = 16;

struct RoughJob {
  const float* query;          // zero-padded to a multiple of kRoughParts
  const std::byte* rows;       // row 0
  std::int64_t stride;         // bytes
  std::int64_t cols;           // of a row
  const std::uint32_t* picks;  // which rows; null: 0 to count - 1
  std::int64_t count;
  float* sums;     // of (x - y)^2, or of x y
  float* squares;  // beside products: sums of y^2 of the row
};

using RoughKernel = void (*)(const RoughJob&);

// By DType; null for float64, which float32 does not hold, for bits, and on ISAs where they do not
// pay. Denormal values may be taken for 0.
struct RoughKernels {
  std::array<RoughKernel, kDTypeCount> distances;
  std::array<RoughKernel, kDTypeCount> products;
};

const RoughKernels& rough_kernels(Isa isa);

// A sum is off by at most this part of a bound on the sum of its terms' magnitudes, if that is from
// kLeastRough to kMostRough. Each rounding is 2^-24: a term has at most 3, a partial sum as many as
// terms, and up to 5 join the parts. Twice of that, and more, covers what denormals lose and the
// error of a key.
constexpr double rough_error(std::int64_t cols) {
  const std::int64_t roundings = cols / kRoughParts + 16;
  return static_cast<double>(roundings) * 0x1p-23;
}
inline constexpr double kLeastRough = 1e-20;
inline constexpr double kMostRough = 1e30;

}  // namespace nearfield
