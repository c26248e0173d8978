// Squared norms of codes in a byte: 256 levels that rise, and which of them a norm has.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "index/coded/coded_parameters.hpp"

namespace nearfield {

// Of norms that come piece by piece, what levels are made of: the least, the most, and some that
// are evenly taken, so that memory does not grow with them.
class NormSample {
 public:
  explicit NormSample(std::int64_t total);

  // Of a sample and what becomes of it: a copy in order, and those that differ.
  static constexpr std::int64_t kMostTaken = 1 << 16;
  static constexpr std::int64_t kMostBytes = 3 * kMostTaken * std::int64_t{sizeof(float)};

  void add(std::span<const float> norms);

  // Of CodedTrained. No code of the quantizer has a norm above `longest`.
  std::vector<float> levels(CodedNorms kept, double longest) const;

 private:
  std::int64_t step_;
  std::int64_t seen_ = 0;
  float least_ = std::numeric_limits<float>::infinity();
  float most_ = -std::numeric_limits<float>::infinity();
  std::vector<float> taken_;
};

// Of exact norms the last level that begins at or below it, the first one also of what lies below
// all; else the nearest.
std::uint8_t norm_level_of(const std::vector<float>& levels, float norm, CodedNorms kept);

}  // namespace nearfield
