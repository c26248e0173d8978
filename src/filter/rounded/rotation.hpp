#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filter/rounded/rounding_kernel.hpp"

namespace nearfield {

// A rotation that spreads what a few dimensions hold over all of them: random signs, Hadamard's
// transform of the first 2^m values, with the largest m that fits, and the same of the last 2^m.
// The same for the same number of columns. Lengths, distances and products stay as they are but for
// rounding, which is at most kRotationError of the length: 2 * 15 additions, 2^-24 each.
class Rotation {
 public:
  explicit Rotation(std::int64_t cols);

  void apply(const RoundingKernel& kernel, std::span<float> values) const;

 private:
  std::vector<float> signs_;
  std::int64_t part_;  // 2^m
};

inline constexpr double kRotationError = 0x1p-19;

}  // namespace nearfield
