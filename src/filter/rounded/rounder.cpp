#include "filter/rounded/rounder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace nearfield {
namespace {

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

Rounder::Rounder(const Rounding& rounding)
    : rounding_(rounding), kernel_(rounding_kernel(rounding.isa)), vector_(rounding) {}

void Rounder::rotate() {
  if (rounding_.rotation) rounding_.rotation->apply(kernel_, vector_.values());
}

Rounded Rounder::round(float step, double centre_length, std::int8_t* out) {
  const auto [lost, sum, squares] =
      kernel_.round(vector_.values().data(), step, rounding_.cols, out);
  Rounded rounded;
  rounded.sum = sum;
  rounded.squares = squares;
  const double own = std::sqrt(static_cast<double>(rounded.squares)) + std::sqrt(lost) / step;
  const double slack = loading_error(own, centre_length / step) +
                       (rounding_.rotation ? kRotationError * own : 0) + kSlack;
  rounded.loss = rounded_up(std::sqrt(lost) / step + slack);
  rounded.half_square = rounded_up(0.5 * static_cast<double>(rounded.loss) * rounded.loss);
  rounded.length = rounded_up(own + slack);
  rounded.step = step;
  return rounded;
}

Rounded Rounder::unusual(VectorKind kind, std::int8_t* out) const {
  std::memset(out, 0, static_cast<std::size_t>(rounding_.cols));
  Rounded rounded;
  rounded.kind = kind;
  return rounded;
}

Rounded Rounder::row(const std::byte* row, std::int8_t* out) {
  if (rounding_.lossless) return round_bytes(row, rounding_.cols, rounding_.offset(), out);
  const VectorKind kind = vector_.load(rounding_.base, row);
  if (kind != VectorKind::usual) return unusual(kind, out);
  vector_.centre();
  rotate();
  const Rounded rounded = round(rounding_.step, rounding_.centre_length, out);
  const double most = kMostLoss * std::sqrt(static_cast<double>(rounding_.cols));
  return rounded.loss <= most ? rounded : unusual(VectorKind::always, out);
}

Rounded Rounder::query(const std::byte* query, std::int8_t* out) {
  if (rounding_.lossless) return round_bytes(query, rounding_.cols, rounding_.offset(), out);
  const VectorKind kind = vector_.load(rounding_.queries, query);
  if (kind != VectorKind::usual) return unusual(kind, out);
  if (rounding_.form == Form::distance) {
    vector_.centre();
    rotate();
    return round(rounding_.step, rounding_.centre_length, out);
  }
  vector_.scale(1);
  rotate();
  float largest = kLeastStep * kLargestByte;
  for (const float value : vector_.values()) largest = std::max(largest, std::abs(value));
  Rounded rounded = round(largest / kLargestByte, 0, out);
  rounded.product_with_centre = vector_.product_with_centre();
  return rounded;
}

}  // namespace nearfield
