// Some rows of a bucket.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "filter/filter.hpp"

namespace nearfield {

// Of the rows of a bucket, which rise, those of a piece.
inline std::span<const std::uint32_t> rows_between(std::span<const std::uint32_t> rows,
                                                   Range piece) {
  const auto begin = std::ranges::lower_bound(rows, piece.begin);
  const auto end = std::lower_bound(begin, rows.end(), piece.end);
  return {begin, end};
}

}  // namespace nearfield
