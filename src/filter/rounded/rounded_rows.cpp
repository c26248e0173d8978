#include "filter/rounded/rounded_rows.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr std::int32_t kNeverFound = 1 - kLargestProduct;
constexpr std::int32_t kAlwaysFound = kLargestProduct;

}  // namespace

std::int32_t bias_of(const BaseRounding& rounding, QueryForm form, const Rounded& row) {
  if (row.kind == VectorKind::never) return kNeverFound;
  if (row.kind == VectorKind::always) return kAlwaysFound;
  std::int32_t bias =
      rounding.form == Form::distance ? -(row.squares >> 1) : rounding.offset() * row.sum;
  if (form == QueryForm::offset_bytes) bias -= 128 * row.sum;
  return bias;
}

std::int64_t RoundedRows::bytes_per_row(std::int64_t cols) {
  constexpr auto kOfAGroup = static_cast<std::int64_t>(sizeof(GroupTerms) + sizeof(std::uint32_t));
  return TileRows::bytes_per_row(cols) + static_cast<std::int64_t>(sizeof(std::int32_t)) +
         divide_up(kOfAGroup, kGroupRows);
}

std::int64_t RoundedRows::fixed_bytes(std::int64_t cols, int threads) {
  const std::int64_t last_group =
      kGroupRows * (bytes_per_row(cols) - TileRows::bytes_per_row(cols));
  return last_group + TileRows::fixed_bytes(cols, threads) + threads * Rounder::bytes(cols);
}

RoundedRows::RoundedRows(const BaseRounding& rounding, QueryForm form, MatrixView rows,
                         std::int64_t first, int threads, Monitor& monitor,
                         TileRows::Progress progress)
    : tiles_({first, first + rows.rows()}, rounding.cols),
      own_bias_(tiles_.groups() * kGroupRows),
      own_terms_(static_cast<std::size_t>(tiles_.groups())),
      own_odd_(static_cast<std::size_t>(tiles_.groups())),
      bias_(own_bias_.data(), static_cast<std::size_t>(tiles_.groups() * kGroupRows)),
      terms_(own_terms_),
      odd_(own_odd_) {
  tiles_.fill(threads, monitor, progress, [&] {
    return [&, rounder = Rounder(rounding)](std::int64_t group, std::byte* out) mutable {
      round_group(rounding, form, rows, group, rounder, out);
    };
  });
  find_largest(rounding);
}

RoundedRows::RoundedRows(const BaseRounding& rounding, QueryForm form, std::int64_t rows,
                         const RoundedTensors& tensors, QueryForm made_for)
    : tiles_({0, rows}, rounding.cols, tensors.values),
      bias_(tensors.bias),
      terms_(tensors.terms),
      odd_(tensors.odd) {
  const bool offset = made_for == QueryForm::offset_bytes;
  assert(!offset || form == QueryForm::offset_bytes);
  if (form == QueryForm::offset_bytes && !offset) take_offset_off();
  if (!rounding.lossless) find_largest(rounding);
}

// From the bias for bytes: less 128 times the sum of a row's values. Numbers of a file that was
// changed may be any: in unsigned ones they wrap around.
void RoundedRows::take_offset_off() {
  own_bias_ = AlignedArray<std::int32_t>(std::ssize(bias_));
  const auto* values = reinterpret_cast<const std::int8_t*>(tiles_.all().data());
  for (std::int64_t first = 0; first < std::ssize(bias_); first += kBlockRows) {
    std::array<std::int32_t, kBlockRows> sums{};
    for (std::int64_t k = 0; k < depth(); ++k) {
      for (std::int32_t& sum : sums) {
        for (int j = 0; j < 4; ++j) sum += *values++;
      }
    }
    for (std::size_t row = 0; row < sums.size(); ++row) {
      const std::int32_t bias = bias_[static_cast<std::size_t>(first) + row];
      const bool certain = bias == kNeverFound || bias == kAlwaysFound;
      const auto offset = static_cast<std::uint32_t>(certain ? 0 : 128 * sums[row]);
      own_bias_[first + static_cast<std::int64_t>(row)] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(bias) - offset);
    }
  }
  bias_ = {own_bias_.data(), bias_.size()};
}

void RoundedRows::find_largest(const BaseRounding& rounding) {
  // Group by group, so that it does not depend on threads.
  for (const GroupTerms& terms : terms_) {
    largest_.loss = std::max(largest_.loss, terms.loss);
    largest_.other = std::max(largest_.other, terms.other);
  }
  longest_ = static_cast<double>(largest_.other) * rounding.step + rounding.centre_length;
}

void RoundedRows::round_group(const BaseRounding& rounding, QueryForm form, MatrixView rows,
                              std::int64_t group, Rounder& rounder, std::byte* out) {
  std::uint32_t odd = 0;
  GroupTerms terms;
  for (std::int64_t i = 0; i < kGroupRows; ++i) {
    const std::int64_t row = group * kGroupRows + i;
    auto* const values = reinterpret_cast<std::int8_t*>(out + i * depth() * 4);
    Rounded rounded;
    if (row < rows.rows()) {
      rounded = rounder.row(rows.row(row), values);
    } else {
      std::memset(values, 0, static_cast<std::size_t>(depth() * 4));
    }
    own_bias_[row] = bias_of(rounding, form, rounded);
    odd |= static_cast<std::uint32_t>(rounded.squares & 1) << i;
    terms.loss = std::max(terms.loss, rounded.loss);
    const bool distance = rounding.form == Form::distance;
    terms.other = std::max(terms.other, distance ? rounded.half_square : rounded.length);
  }
  own_terms_[static_cast<std::size_t>(group)] = terms;
  own_odd_[static_cast<std::size_t>(group)] = odd;
}

}  // namespace nearfield
