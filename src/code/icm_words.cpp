#include "code/icm_words.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "code/code_kernels.hpp"
#include "core/checked.hpp"

namespace nearfield {

IcmWords::IcmWords(const Codebooks& codebooks)
    : codebooks_(codebooks.count),
      codewords_(codebooks.codewords),
      cols_(codebooks.cols),
      padded_(round_up(codebooks.cols, kCostParts)),
      pairs_(divide_up(codebooks.cols, 2)),
      centre_(static_cast<std::size_t>(codebooks.cols)),
      words_(codebooks_ * codewords_ * padded_),
      norms_(static_cast<std::size_t>(codebooks_ * codewords_)),
      scaled_norms_(norms_.size()),
      rounded_(codebooks_ * codewords_ * 2 * pairs_),
      rounded_rows_(codebooks_ * codewords_ * 2 * pairs_) {
  centre_words(codebooks);
  round_words();
}

std::int64_t IcmWords::bytes_for(int codebooks, int codewords, std::int64_t cols) {
  const std::int64_t words = std::int64_t{codebooks} * codewords;
  const std::int64_t of_a_word =
      4 * round_up(cols, kCostParts) + 2 * 2 * 2 * divide_up(cols, 2) + 8 + 4;
  return words * of_a_word + 4 * cols;
}

IcmWords::Arrays IcmWords::arrays() const {
  const std::size_t words = norms_.size();
  const auto padded = static_cast<std::size_t>(padded_);
  const auto values = static_cast<std::size_t>(2 * pairs_);
  return {.centre = centre_,
          .words = {words_.data(), words * padded},
          .scaled_norms = scaled_norms_,
          .rounded = {rounded_.data(), words * values},
          .rounded_rows = {rounded_rows_.data(), words * values}};
}

float IcmWords::pair_scale() const {
  return static_cast<float>(2 * word_step_ * word_step_ / quantum_);
}

void IcmWords::centre_words(const Codebooks& codebooks) {
  std::vector<double> mean(static_cast<std::size_t>(cols_));
  std::vector<double> centre(static_cast<std::size_t>(cols_));
  for (int k = 0; k < codebooks_; ++k) {
    std::fill(mean.begin(), mean.end(), 0.0);
    for (int b = 0; b < codewords_; ++b) {
      const float* const word = codebooks.word(k, b);
      for (std::int64_t i = 0; i < cols_; ++i) mean[static_cast<std::size_t>(i)] += word[i];
    }
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] /= codewords_;
      centre[i] += mean[i];
    }
    for (int b = 0; b < codewords_; ++b) {
      const float* const word = codebooks.word(k, b);
      const std::int64_t at = std::int64_t{k} * codewords_ + b;
      float* const out = words_.data() + at * padded_;
      double norm = 0;
      for (std::int64_t i = 0; i < cols_; ++i) {
        out[i] = static_cast<float>(word[i] - mean[static_cast<std::size_t>(i)]);
        norm += static_cast<double>(out[i]) * out[i];
      }
      std::fill(out + cols_, out + padded_, 0.0F);
      norms_[static_cast<std::size_t>(at)] = norm;
    }
  }
  for (std::size_t i = 0; i < centre.size(); ++i) centre_[i] = static_cast<float>(centre[i]);
}

void IcmWords::round_words() {
  const double longest = std::sqrt(*std::max_element(norms_.begin(), norms_.end()));
  word_step_ = longest > 0 ? longest / kRoundedLength : 1;
  for (int k = 0; k < codebooks_; ++k) {
    for (int b = 0; b < codewords_; ++b) {
      const std::int64_t at = std::int64_t{k} * codewords_ + b;
      const float* const word = words_.data() + at * padded_;
      std::int16_t* const row = rounded_rows_.data() + at * 2 * pairs_;
      for (std::int64_t i = 0; i < 2 * pairs_; ++i) {
        const double value = i < cols_ ? std::nearbyint(word[i] / word_step_) : 0;
        row[i] = static_cast<std::int16_t>(value);
        rounded_[((k * pairs_ + i / 2) * codewords_ + b) * 2 + i % 2] = row[i];
      }
    }
  }
}

// Where the unary of a code is 0, which is so of one at least, its sum is one entry of a row of
// each other codebook: so 16 bits hold the smallest sum if they hold the widest rows together.
void IcmWords::set_quantum(std::span<const double> widest) {
  const int others = codebooks_ - 1;
  double most = 0;
  for (int target = 0; target < codebooks_; ++target) {
    const auto begin = widest.begin() + target * others;
    most = std::max(most, std::accumulate(begin, begin + others, 0.0));
  }
  // Two of a row are lost to rounding.
  const double room = kTooFar - 2 * codebooks_;
  if (most > 0) {
    quantum_ = 2 * word_step_ * word_step_ * most / room;
  } else if (const double norm = *std::max_element(norms_.begin(), norms_.end()); norm > 0) {
    quantum_ = norm / room;  // of one codebook that is not zero
  }
  for (std::size_t i = 0; i < norms_.size(); ++i) {
    scaled_norms_[i] = static_cast<float>(norms_[i] / quantum_);
  }
}

}  // namespace nearfield
