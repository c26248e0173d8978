// Of how many rows of a part there are tables.
#pragma once

#include <cstdint>

#include "index/tuning.hpp"

namespace nearfield {

// Whole words of 64 rows, so that a bitset of the others can be cut off; none of few.
inline std::int64_t hashed_rows(std::int64_t rows) {
  constexpr std::int64_t kWordOfRows = 64;
  const std::int64_t whole = rows / kWordOfRows * kWordOfRows;
  return whole < index_tuning().least_packed_rows ? 0 : whole;
}

}  // namespace nearfield
