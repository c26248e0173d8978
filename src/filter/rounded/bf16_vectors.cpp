#include "filter/rounded/bf16_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/checked.hpp"
#include "core/infinity.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kValueBytes = sizeof(std::uint16_t);

// Added to losses: more than 16,384 values below 2^-126 amount to, which tiles take for 0.
constexpr double kLeastLoss = 1e-30;

Bf16Vector unusual(const BaseRounding& rounding, VectorKind kind, std::uint16_t* out) {
  std::fill_n(out, rounding.cols, std::uint16_t{0});
  Bf16Vector vector;
  vector.kind = kind;
  return vector;
}

Bf16Vector round(const BaseRounding& rounding, LoadedVector& loaded, double centre_length,
                 std::uint16_t* out) {
  const auto [lost, squares] =
      rounding_kernel(rounding.isa).round_to_bf16(loaded.values().data(), rounding.cols, out);
  Bf16Vector vector;
  vector.squares = squares;
  const double length = std::sqrt(squares) + std::sqrt(lost);
  vector.loss = std::sqrt(lost) + loading_error(length, centre_length) + kLeastLoss;
  return vector;
}

}  // namespace

Bf16Vector round_row_to_bf16(const BaseRounding& rounding, LoadedVector& loaded,
                             std::uint16_t* out) {
  loaded.centre();
  return round(rounding, loaded, rounding.centre_length, out);
}

Bf16Vector round_query_to_bf16(const BaseRounding& rounding, LoadedVector& loaded,
                               std::uint16_t* out) {
  if (rounding.form == Form::distance) return round_row_to_bf16(rounding, loaded, out);
  const double length = loaded.length();
  const double divisor = length > 0 ? length : 1;
  loaded.scale(1 / divisor);
  Bf16Vector vector = round(rounding, loaded, 0, out);
  vector.divisor = divisor;
  vector.product_with_centre = loaded.product_with_centre();
  return vector;
}

Bf16Vector Bf16Rounder::row(const std::byte* row, std::uint16_t* out) {
  const VectorKind kind = vector_.load(rounding_.base, row);
  if (kind != VectorKind::usual) return unusual(rounding_, kind, out);
  return round_row_to_bf16(rounding_, vector_, out);
}

Bf16Vector Bf16Rounder::query(const std::byte* query, std::uint16_t* out) {
  const VectorKind kind = vector_.load(rounding_.queries, query);
  if (kind != VectorKind::usual) return unusual(rounding_, kind, out);
  return round_query_to_bf16(rounding_, vector_, out);
}

std::int64_t Bf16Rows::bytes_per_row(std::int64_t cols) {
  constexpr std::int64_t kTerms = 2 * sizeof(float);
  return TileRows::bytes_per_row(cols * kValueBytes) + kTerms;
}

std::int64_t Bf16Rows::fixed_bytes(std::int64_t cols, int threads) {
  const std::int64_t row_bytes = cols * kValueBytes;
  return kGroupRows * (bytes_per_row(cols) - TileRows::bytes_per_row(row_bytes)) +
         TileRows::fixed_bytes(row_bytes, threads) + threads * Bf16Rounder::bytes(cols);
}

Bf16Rows::Bf16Rows(const BaseRounding& rounding, MatrixView rows, std::int64_t first, int threads,
                   Monitor& monitor)
    : tiles_({first, first + rows.rows()}, rounding.cols * kValueBytes),
      bias_(tiles_.groups() * kGroupRows),
      term_(tiles_.groups() * kGroupRows) {
  tiles_.fill(threads, monitor, TileRows::Progress::none, [&] {
    return [&, rounder = Bf16Rounder(rounding)](std::int64_t group, std::byte* out) mutable {
      round_group(rounding, rows, group, rounder, out);
    };
  });
  if (rounding.form == Form::product) find_longest(rounding.centre_length, monitor);
}

void Bf16Rows::round_group(const BaseRounding& rounding, MatrixView rows, std::int64_t group,
                           Bf16Rounder& rounder, std::byte* out) {
  const std::int64_t row_bytes = tiles_.depth() * 4;
  for (std::int64_t i = 0; i < kGroupRows; ++i) {
    const std::int64_t row = group * kGroupRows + i;
    auto* const values = reinterpret_cast<std::uint16_t*>(out + i * row_bytes);
    Bf16Vector vector;
    if (row < rows.rows()) {
      vector = rounder.row(rows.row(row), values);
    } else {
      std::memset(values, 0, static_cast<std::size_t>(row_bytes));
      vector.kind = VectorKind::never;
    }
    set_terms(rounding, row, vector);
  }
}

void Bf16Rows::set_terms(const BaseRounding& rounding, std::int64_t row, const Bf16Vector& vector) {
  term_[row] = 0;
  if (vector.kind != VectorKind::usual) {
    bias_[row] = vector.kind == VectorKind::always ? kFloatInfinity : -kFloatInfinity;
  } else if (rounding.form == Form::distance) {
    const double squares = vector.squares * (1 - bf16_sum_error(rounding.cols));
    bias_[row] = rounded_up((vector.loss * vector.loss * (1 + kBf16TermError) - squares) / 2);
    term_[row] = rounded_up(vector.loss);
  } else {
    bias_[row] = rounded_up(vector.loss * (1 + kBf16TermError));
    term_[row] = rounded_up(std::sqrt(vector.squares));
  }
}

void Bf16Rows::find_longest(double centre_length, const Monitor& monitor) {
  constexpr std::int64_t kRowsPerCheck = 1 << 20;
  double longest = 0;
  for (std::int64_t row = 0; row < tiles_.count(); ++row) {
    if (row % kRowsPerCheck == 0) monitor.check();
    if (std::isfinite(bias_[row])) {
      longest = std::max(longest, static_cast<double>(term_[row]) + bias_[row]);
    }
  }
  longest_ = longest + centre_length;
}

std::int64_t Bf16Queries::bytes_per_query(std::int64_t cols) {
  return TileQueries::bytes_per_query(cols * kValueBytes) +
         static_cast<std::int64_t>(sizeof(Bf16Vector));
}

std::int64_t Bf16Queries::fixed_bytes(std::int64_t cols, int threads) {
  return TileQueries::fixed_bytes(cols * kValueBytes) + threads * Bf16Rounder::bytes(cols);
}

Bf16Queries::Bf16Queries(const BaseRounding& rounding, MatrixView queries, std::int64_t first,
                         int threads, const Monitor& monitor)
    : tiles_({first, first + queries.rows()}, rounding.cols * kValueBytes),
      vectors_(static_cast<std::size_t>(queries.rows())) {
  tiles_.fill(threads, monitor, [&] {
    return [&, rounder = Bf16Rounder(rounding)](std::int64_t query, std::byte* out) mutable {
      vectors_[static_cast<std::size_t>(query)] =
          rounder.query(queries.row(query), reinterpret_cast<std::uint16_t*>(out));
    };
  });
}

}  // namespace nearfield
