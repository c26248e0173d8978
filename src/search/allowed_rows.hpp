#pragma once

#include <bit>
#include <cstdint>
#include <iterator>

#include <nearfield/knn.hpp>

namespace nearfield {

// At most so many rows may be found.
inline std::int64_t allowed_rows(const RowFilter& filter, std::int64_t rows) {
  if (filter.kind() == RowFilter::Kind::list) return std::ssize(filter.ids());
  if (filter.kind() != RowFilter::Kind::bitset) return rows;
  std::int64_t count = 0;
  for (const std::uint64_t word : filter.words()) count += std::popcount(word);
  return count;
}

}  // namespace nearfield
