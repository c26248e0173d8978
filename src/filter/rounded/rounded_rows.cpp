#include "filter/rounded/rounded_rows.hpp"

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"

namespace nearfield {
namespace {

std::int32_t bias_of(const Rounding& rounding, const TileKernel& kernel, const Rounded& row) {
  if (row.kind == VectorKind::never) return 1 - kLargestProduct;
  if (row.kind == VectorKind::always) return kLargestProduct;
  std::int32_t bias =
      rounding.form == Form::distance ? -(row.squares >> 1) : rounding.offset() * row.sum;
  if (kernel.form == QueryForm::offset_bytes) bias -= 128 * row.sum;
  return bias;
}

}  // namespace

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

RoundedRows::RoundedRows(const Rounding& rounding, const TileKernel& kernel, MatrixView rows,
                         std::int64_t first, int threads, Monitor& monitor,
                         TileRows::Progress progress)
    : tiles_({first, first + rows.rows()}, rounding.cols),
      bias_(tiles_.groups() * kGroupRows),
      terms_(static_cast<std::size_t>(tiles_.groups())),
      odd_(static_cast<std::size_t>(tiles_.groups())) {
  tiles_.fill(threads, monitor, progress, [&] {
    return [&, rounder = Rounder(rounding)](std::int64_t group, std::byte* out) mutable {
      round_group(rounding, kernel, rows, group, rounder, out);
    };
  });
  // Group by group, so that it does not depend on threads.
  for (const GroupTerms& terms : terms_) {
    largest_.loss = std::max(largest_.loss, terms.loss);
    largest_.other = std::max(largest_.other, terms.other);
  }
  longest_ = static_cast<double>(largest_.other) * rounding.step + rounding.centre_length;
}

void RoundedRows::round_group(const Rounding& rounding, const TileKernel& kernel, MatrixView rows,
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
    bias_[row] = bias_of(rounding, kernel, rounded);
    odd |= static_cast<std::uint32_t>(rounded.squares & 1) << i;
    terms.loss = std::max(terms.loss, rounded.loss);
    const bool distance = rounding.form == Form::distance;
    terms.other = std::max(terms.other, distance ? rounded.half_square : rounded.length);
  }
  terms_[static_cast<std::size_t>(group)] = terms;
  odd_[static_cast<std::size_t>(group)] = odd;
}

}  // namespace nearfield
