#include "code/icm_tables.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/checked.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr double kMostOfAScale = 1e25;  // times a product it is a float

std::int64_t pair_entries(int codebooks, int codewords) {
  return std::int64_t{codebooks} * (codebooks - 1) * codewords * codewords;
}

}  // namespace

IcmTables::IcmTables(const Codebooks& codebooks, const CodeKernels& kernels, int threads,
                     Monitor& monitor)
    : kernels_(kernels),
      codebooks_(codebooks.count),
      codewords_(codebooks.codewords),
      cols_(codebooks.cols),
      padded_(round_up(codebooks.cols, kCostParts)),
      pairs_(divide_up(codebooks.cols, 2)),
      centre_(static_cast<std::size_t>(codebooks.cols)),
      words_(codebooks_ * codewords_ * padded_),
      norms_(static_cast<std::size_t>(codebooks_ * codewords_)),
      scaled_norms_(norms_.size()),
      rounded_(codebooks_ * codewords_ * 2 * pairs_),
      rounded_rows_(codebooks_ * codewords_ * 2 * pairs_),
      pairs_of_(pair_entries(codebooks_, codewords_)) {
  centre_words(codebooks);
  round_words();
  choose_quantum(threads, monitor);
  for (std::size_t i = 0; i < norms_.size(); ++i) {
    scaled_norms_[i] = static_cast<float>(norms_[i] / quantum_);
  }
  const auto scale = static_cast<float>(2 * word_step_ * word_step_ / quantum_);
  for_each_pair(threads, monitor, [&](int target, int slot) {
    const std::int64_t block = std::int64_t{codewords_} * codewords_;
    std::uint16_t* out =
        pairs_of_.data() + (std::int64_t{target} * (codebooks_ - 1) + slot) * block;
    for_each_row(target, slot, [&](const std::int32_t* row) {
      kernels_.pair_row(row, scale, out);
      out += codewords_;
    });
  });
}

std::int64_t IcmTables::bytes_for(int codebooks, int codewords, std::int64_t cols) {
  const std::int64_t words = std::int64_t{codebooks} * codewords;
  const std::int64_t of_a_word =
      4 * round_up(cols, kCostParts) + 2 * 2 * 2 * divide_up(cols, 2) + 8 + 4;
  return words * of_a_word + 2 * pair_entries(codebooks, codewords) + 4 * cols;
}

void IcmTables::centre_words(const Codebooks& codebooks) {
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

void IcmTables::round_words() {
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

void IcmTables::centre(const float* vector, float* out) const {
  for (std::int64_t i = 0; i < cols_; ++i)
    out[i] = vector[i] - centre_[static_cast<std::size_t>(i)];
  std::fill(out + cols_, out + padded_, 0.0F);
}

float IcmTables::round(const float* centred, std::int16_t* out) const {
  double squares = 0;
  for (std::int64_t i = 0; i < cols_; ++i) squares += static_cast<double>(centred[i]) * centred[i];
  std::fill(out + cols_, out + 2 * pairs_, std::int16_t{0});
  if (!(squares > 0)) {
    std::fill(out, out + cols_, std::int16_t{0});
    return 0;
  }
  const double step = std::sqrt(squares) / kRoundedLength;
  const double inverse = 1 / step;
  for (std::int64_t i = 0; i < cols_; ++i) {
    out[i] = static_cast<std::int16_t>(std::nearbyint(centred[i] * inverse));
  }
  return static_cast<float>(step);
}

void IcmTables::unaries(const std::int16_t* rounded, const float* steps, int codebook,
                        std::int32_t* products, std::uint16_t* out, std::int64_t stride) const {
  kernels_.products(rounded, 2 * pairs_, rounded_.data() + codebook * pairs_ * codewords_ * 2,
                    pairs_, products);
  const float* const norms = scaled_norms_.data() + codebook * codewords_;
  for (std::int64_t v = 0; v < kProductVectors; ++v) {
    // Of a vector so far from all codewords every unary but the smallest is too far.
    const auto scale =
        static_cast<float>(std::min(2 * word_step_ * steps[v] / quantum_, kMostOfAScale));
    kernels_.unaries(products + v * codewords_, norms, scale, out + v * stride);
  }
}

template <class Run>
void IcmTables::for_each_pair(int threads, Monitor& monitor, const Run& run) const {
  const int others = codebooks_ - 1;
  run_tasks(std::int64_t{codebooks_} * others, threads, [&](std::int64_t task, int) {
    monitor.check();
    run(static_cast<int>(task / others), static_cast<int>(task % others));
  });
}

// The products of each codeword of the other codebook with those of the target.
template <class Use>
void IcmTables::for_each_row(int target, int slot, const Use& use) const {
  const int other = slot + static_cast<int>(slot >= target);
  std::vector<std::int32_t> products(static_cast<std::size_t>(kProductVectors * codewords_));
  for (int first = 0; first < codewords_; first += kProductVectors) {
    const std::int64_t row = std::int64_t{other} * codewords_ + first;
    kernels_.products(rounded_rows_.data() + row * 2 * pairs_, 2 * pairs_,
                      rounded_.data() + target * pairs_ * codewords_ * 2, pairs_, products.data());
    for (std::int64_t v = 0; v < kProductVectors; ++v) use(products.data() + v * codewords_);
  }
}

// Where the unary of a code is 0, which is so of one at least, its sum is one entry of a row of
// each other codebook: so 16 bits hold the smallest sum if they hold the widest rows together.
void IcmTables::choose_quantum(int threads, Monitor& monitor) {
  const int others = codebooks_ - 1;
  std::vector<double> widest(static_cast<std::size_t>(codebooks_ * others));
  for_each_pair(threads, monitor, [&](int target, int slot) {
    double& range = widest[static_cast<std::size_t>(target * others + slot)];
    for_each_row(target, slot, [&](const std::int32_t* row) {
      const auto [least, most] = std::minmax_element(row, row + codewords_);
      range = std::max(range, static_cast<double>(*most) - *least);
    });
  });
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
}

}  // namespace nearfield
