#pragma once

#include <cmath>
#include <limits>

#include "core/decode.hpp"

namespace nearfield {

// What is made of a finite query's key: NaN, which is never returned, where the row is not finite;
// and infinity for a pair that the definition cannot order, which so comes last.
inline double settled_key(double key, DType dtype, const std::byte* row, std::int64_t cols) {
  if (std::isfinite(key)) return key;
  if (!row_is_finite(dtype, row, cols)) return std::numeric_limits<double>::quiet_NaN();
  return std::isnan(key) ? INFINITY : key;
}

}  // namespace nearfield
