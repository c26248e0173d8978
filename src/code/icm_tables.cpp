#include "code/icm_tables.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr double kMostOfAScale = 1e25;  // times a product it is a float

}  // namespace

IcmTables::IcmTables(const Codebooks& codebooks, const CodeKernels& kernels, int threads,
                     Monitor& monitor)
    : IcmWords(codebooks),
      kernels_(kernels),
      pairs_of_(codebooks.count * pair_entries(codebooks.count, codebooks.codewords)) {
  set_quantum(widest_rows(threads, monitor));
  const float scale = pair_scale();
  const int halves = halves_of(codebooks_, codewords_);
  const std::int64_t of_a_half = codewords_ / halves;
  const std::int64_t block = codewords_ * of_a_half;
  for_each_pair(threads, monitor, [&](int target, int slot) {
    std::vector<std::uint16_t> whole(static_cast<std::size_t>(codewords_));
    std::uint16_t* out =
        pairs_of_.data() + target * pair_entries(codebooks_, codewords_) + slot * block;
    for_each_row(target, slot, [&](const std::int32_t* row) {
      kernels_.pair_row(row, scale, whole.data());
      for (int half = 0; half < halves; ++half) {
        std::copy_n(whole.data() + half * of_a_half, of_a_half,
                    out + half * (codebooks_ - 1) * block);
      }
      out += of_a_half;
    });
  });
}

std::int64_t IcmTables::bytes_for(int codebooks, int codewords, std::int64_t cols) {
  return IcmWords::bytes_for(codebooks, codewords, cols) +
         2 * codebooks * pair_entries(codebooks, codewords);
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
    // Adding and taking off a number makes a double round to an integer.
    out[i] = static_cast<std::int16_t>(centred[i] * inverse + 0x1.8p52 - 0x1.8p52);
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

// Of each target and other codebook.
std::vector<double> IcmTables::widest_rows(int threads, Monitor& monitor) const {
  const int others = codebooks_ - 1;
  std::vector<double> widest(static_cast<std::size_t>(codebooks_ * others));
  for_each_pair(threads, monitor, [&](int target, int slot) {
    double& range = widest[static_cast<std::size_t>(target * others + slot)];
    for_each_row(target, slot, [&](const std::int32_t* row) {
      const auto [least, most] = std::minmax_element(row, row + codewords_);
      range = std::max(range, static_cast<double>(*most) - *least);
    });
  });
  return widest;
}

}  // namespace nearfield
