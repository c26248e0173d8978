#pragma once

#include <algorithm>
#include <cstdint>

namespace nearfield {

// The largest number of differing bits that is at most the threshold; -1 if there is none.
inline std::int32_t most_differing(double threshold, std::int64_t cols) {
  if (threshold < 0) return -1;
  return static_cast<std::int32_t>(std::min(threshold, static_cast<double>(cols)));
}

}  // namespace nearfield
