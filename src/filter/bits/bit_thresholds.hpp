#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nearfield {

// The largest number of differing bits that is at most the threshold; -1 if there is none.
inline std::int32_t most_differing(double threshold, std::int64_t cols) {
  return static_cast<std::int32_t>(
      std::clamp(std::floor(threshold), -1.0, static_cast<double>(cols)));
}

}  // namespace nearfield
