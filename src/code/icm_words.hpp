// Codewords as local search takes them: less the mean of their codebook, as floats and rounded to
// 16-bit integers, and the quantum that sums are counted in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "code/codebooks.hpp"
#include "core/aligned_array.hpp"

namespace nearfield {

class IcmWords {
 public:
  explicit IcmWords(const Codebooks& codebooks);

  // What they take.
  static std::int64_t bytes_for(int codebooks, int codewords, std::int64_t cols);

  int codebooks() const { return codebooks_; }
  int codewords() const { return codewords_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t padded_cols() const { return padded_; }
  std::int64_t pairs() const { return pairs_; }
  double quantum() const { return quantum_; }
  double word_step() const { return word_step_; }

  // That 16 bits hold the smallest sum of any vector and codebook. widest: of each target and other
  // codebook the largest difference in a row of products.
  void set_quantum(std::span<const double> widest);

  // What a product of two rounded codewords is in quanta, twice.
  float pair_scale() const;

  struct Arrays {
    std::span<const float> centre;               // the sum of the means
    std::span<const float> words;                // [codebook][codeword][padded column]
    std::span<const float> scaled_norms;         // [codebook][codeword], in quanta
    std::span<const std::int16_t> rounded;       // [codebook][pair][codeword][2]
    std::span<const std::int16_t> rounded_rows;  // [codebook][codeword][2 * pairs()]
  };
  Arrays arrays() const;

 protected:
  int codebooks_;
  int codewords_;
  std::int64_t cols_;
  std::int64_t padded_;
  std::int64_t pairs_;
  double quantum_ = 1;
  double word_step_ = 1;  // what 1 stands for in a rounded codeword

  std::vector<float> centre_;
  AlignedArray<float> words_;
  std::vector<double> norms_;  // [codebook][codeword]
  std::vector<float> scaled_norms_;
  AlignedArray<std::int16_t> rounded_;
  AlignedArray<std::int16_t> rounded_rows_;

 private:
  void centre_words(const Codebooks& codebooks);
  void round_words();
};

}  // namespace nearfield
