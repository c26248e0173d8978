// Codes of bits for tests of indexes by hashing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <nearfield/index.hpp>

#include "core/random.hpp"

namespace nearfield::test {

inline void flip(std::byte* row, std::int64_t bit) { row[bit / 8] ^= std::byte{1} << (bit % 8); }
inline bool bit_at(const std::byte* row, std::int64_t bit) {
  return (row[bit / 8] >> (bit % 8) & std::byte{1}) != std::byte{0};
}

inline void flip_some(std::byte* row, std::int64_t cols, std::int64_t count, Random& random) {
  std::vector<std::uint8_t> flipped(static_cast<std::size_t>(cols));
  while (count > 0) {
    const std::int64_t bit = random.below(cols);
    if (flipped[static_cast<std::size_t>(bit)]++ > 0) continue;
    flip(row, bit);
    --count;
  }
}

// Random codes, of which every fourth is near one before it.
inline Matrix near_codes(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix matrix(DType::bits, rows, cols);
  Random random(seed);
  const std::int64_t bytes = row_bytes(DType::bits, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::byte* const values = matrix.row(row);
    std::fill_n(values, bytes, std::byte{0});
    if (row % 4 == 3) {
      std::copy_n(matrix.row(random.below(row)), bytes, values);
      flip_some(values, cols, random.below(cols / 8), random);
      continue;
    }
    for (std::int64_t bit = 0; bit < cols; ++bit) {
      if (random.below(2) == 0) flip(values, bit);
    }
  }
  return matrix;
}

inline IndexSpec bits_spec(const std::string& family, std::int64_t cols) {
  return {.family = family, .dtype = DType::bits, .cols = cols, .metric = Metric::hamming};
}

}  // namespace nearfield::test
