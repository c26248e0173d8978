#include "filter/rounded/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/decode.hpp"
#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {
namespace {

// 128 * 128 * cols, what is added to it, and the sum of both must stay below kLargestProduct.
constexpr std::int64_t kMostCols = 16'384;
static_assert(128 * 128 * kMostCols * 3 < std::int64_t{kLargestProduct});

bool bytes(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

float rounded_up(double x) {
  return std::nextafter(static_cast<float>(x), std::numeric_limits<float>::infinity());
}

Rounded round_bytes(const std::byte* row, std::int64_t cols, std::int32_t offset,
                    std::int8_t* out) {
  Rounded rounded;
  for (std::int64_t i = 0; i < cols; ++i) {
    const auto value =
        static_cast<std::int8_t>(static_cast<std::uint8_t>(row[i]) ^ static_cast<unsigned>(offset));
    out[i] = value;
    rounded.sum += value;
    rounded.squares += value * value;
  }
  return rounded;
}

}  // namespace

std::optional<double> scale_of(const Rounding& rounding, std::span<const double> decoded) {
  const RoundingKernel& kernel = rounding_kernel(rounding.isa);
  const double length = std::sqrt(kernel.sum_of_squares(decoded.data(), std::ssize(decoded)));
  // A vector of zeros has no direction; it has a place and products.
  const bool zero = length == 0 && !rounding.unit;
  if (!zero && !is_usual_length(length)) return std::nullopt;
  return rounding.unit ? 1 / length : 1;
}

std::optional<Rounding> choose_rounding(MetricSpec metric, DType queries, DType base,
                                        std::int64_t cols, Isa isa) {
  if (base == DType::bits || cols == 0 || cols > kMostCols) return std::nullopt;
  Rounding rounding;
  rounding.base = base;
  rounding.queries = queries;
  rounding.cols = cols;
  rounding.isa = isa;
  rounding.lossless = bytes(base) && queries == base;
  switch (metric.metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean:
      return rounding;
    case Metric::cosine:
      rounding.lossless = false;
      rounding.unit = true;
      return rounding;
    case Metric::inner_product:
      rounding.form = Form::product;
      return rounding;
    default:
      return std::nullopt;
  }
}

Rounder::Rounder(const Rounding& rounding)
    : rounding_(rounding),
      kernel_(rounding_kernel(rounding.isa)),
      decoded_(static_cast<std::size_t>(rounding.cols)),
      values_(static_cast<std::size_t>(rounding.cols)) {}

bool Rounder::load(DType dtype, const std::byte* row) {
  decode_row(dtype, row, rounding_.cols, decoded_.data());
  const std::optional<double> scale = scale_of(rounding_, decoded_);
  scale_ = scale.value_or(1);
  return scale.has_value();
}

// In float64: what lies far from the origin beside its spread would lose the spread in float32.
void Rounder::centre() {
  kernel_.centre(decoded_.data(), scale_, rounding_.centre.data(), rounding_.cols, values_.data());
}

void Rounder::rotate() {
  if (rounding_.rotation) rounding_.rotation->apply(kernel_, values_);
}

Rounded Rounder::round(float step, double centre_length, std::int8_t* out) const {
  const auto [lost, sum, squares] = kernel_.round(values_.data(), step, rounding_.cols, out);
  Rounded rounded;
  rounded.sum = sum;
  rounded.squares = squares;
  // Each value was scaled and the centre taken off, in float64, off by less than 2^-40 of the
  // vector and the centre; rounded to a float and the error computed, off by 2^-24 of what is left.
  const double relative = 0x1p-21 + (rounding_.rotation ? kRotationError : 0);
  const double own = std::sqrt(static_cast<double>(rounded.squares)) + std::sqrt(lost) / step;
  const double slack = relative * own + 0x1p-39 * centre_length / step + kSlack;
  rounded.loss = rounded_up(std::sqrt(lost) / step + slack);
  rounded.half_square = rounded_up(0.5 * static_cast<double>(rounded.loss) * rounded.loss);
  rounded.length = rounded_up(own + slack);
  rounded.step = step;
  return rounded;
}

// Of a vector that could not be loaded. One that is not finite never can: nor is its length.
Rounded::Kind Rounder::kind_of(DType dtype, const std::byte* row) const {
  return row_is_finite(dtype, row, rounding_.cols) ? Rounded::Kind::always : Rounded::Kind::never;
}

Rounded Rounder::unusual(Rounded::Kind kind, std::int8_t* out) const {
  std::memset(out, 0, static_cast<std::size_t>(rounding_.cols));
  Rounded rounded;
  rounded.kind = kind;
  return rounded;
}

Rounded Rounder::row(const std::byte* row, std::int8_t* out) {
  if (rounding_.lossless) return round_bytes(row, rounding_.cols, rounding_.offset(), out);
  if (!load(rounding_.base, row)) return unusual(kind_of(rounding_.base, row), out);
  centre();
  rotate();
  const Rounded rounded = round(rounding_.step, rounding_.centre_length, out);
  const double most = kMostLoss * std::sqrt(static_cast<double>(rounding_.cols));
  return rounded.loss <= most ? rounded : unusual(Rounded::Kind::always, out);
}

Rounded Rounder::query(const std::byte* query, std::int8_t* out) {
  if (rounding_.lossless) return round_bytes(query, rounding_.cols, rounding_.offset(), out);
  if (!load(rounding_.queries, query)) return unusual(kind_of(rounding_.queries, query), out);
  if (rounding_.form == Form::distance) {
    centre();
    rotate();
    return round(rounding_.step, rounding_.centre_length, out);
  }
  double with_centre = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    with_centre += decoded_[i] * rounding_.centre[i];
  }
  kernel_.scale(decoded_.data(), scale_, rounding_.cols, values_.data());
  rotate();
  float largest = kLeastStep * kLargestByte;
  for (const float value : values_) largest = std::max(largest, std::abs(value));
  Rounded rounded = round(largest / kLargestByte, 0, out);
  rounded.product_with_centre = with_centre;
  return rounded;
}

}  // namespace nearfield
