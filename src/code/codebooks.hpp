// Codebooks: a vector is the sum of one codeword of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nearfield {

inline constexpr int kMostCodebooks = 64;

// Of codes, one byte each while they are worked on.
struct Codebooks {
  int count = 0;
  int codewords = 0;  // of each: 16 or 256
  std::int64_t cols = 0;
  std::vector<float> values;  // [codebook][codeword][column]

  Codebooks() = default;
  Codebooks(int codebooks, int codewords_of_each, std::int64_t columns)
      : count(codebooks),
        codewords(codewords_of_each),
        cols(columns),
        values(static_cast<std::size_t>(codebooks * codewords_of_each * columns)) {}

  float* word(int codebook, int code) {
    return values.data() + (std::int64_t{codebook} * codewords + code) * cols;
  }
  const float* word(int codebook, int code) const {
    return values.data() + (std::int64_t{codebook} * codewords + code) * cols;
  }
};

}  // namespace nearfield
