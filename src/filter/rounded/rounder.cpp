#include "filter/rounded/rounder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "filter/rounded/rounding_kernel.hpp"

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

void rotate(const BaseRounding& rounding, LoadedVector& vector) {
  if (rounding.rotation) {
    rounding.rotation->apply(rounding_kernel(rounding.isa), vector.values());
  }
}

Rounded round(const BaseRounding& rounding, LoadedVector& vector, float step, double centre_length,
              std::int8_t* out) {
  const auto [lost, sum, squares] =
      rounding_kernel(rounding.isa).round(vector.values().data(), step, rounding.cols, out);
  Rounded rounded;
  rounded.sum = sum;
  rounded.squares = squares;
  const double own = std::sqrt(static_cast<double>(rounded.squares)) + std::sqrt(lost) / step;
  const double slack = loading_error(own, centre_length / step) +
                       (rounding.rotation ? kRotationError * own : 0) + kSlack;
  rounded.loss = rounded_up(std::sqrt(lost) / step + slack);
  rounded.half_square = rounded_up(0.5 * static_cast<double>(rounded.loss) * rounded.loss);
  rounded.length = rounded_up(own + slack);
  rounded.step = step;
  return rounded;
}

Rounded unusual(const BaseRounding& rounding, VectorKind kind, std::int8_t* out) {
  std::memset(out, 0, static_cast<std::size_t>(rounding.cols));
  Rounded rounded;
  rounded.kind = kind;
  return rounded;
}

}  // namespace

Rounded round_row(const BaseRounding& rounding, LoadedVector& vector, std::int8_t* out) {
  vector.centre();
  rotate(rounding, vector);
  const Rounded rounded = round(rounding, vector, rounding.step, rounding.centre_length, out);
  const double most = kMostLoss * std::sqrt(static_cast<double>(rounding.cols));
  return rounded.loss <= most ? rounded : unusual(rounding, VectorKind::always, out);
}

Rounded round_query(const BaseRounding& rounding, LoadedVector& vector, std::int8_t* out) {
  if (rounding.form == Form::distance) {
    vector.centre();
    rotate(rounding, vector);
    return round(rounding, vector, rounding.step, rounding.centre_length, out);
  }
  vector.scale(1);
  rotate(rounding, vector);
  float largest = kLeastStep * kLargestByte;
  for (const float value : vector.values()) largest = std::max(largest, std::abs(value));
  Rounded rounded = round(rounding, vector, largest / kLargestByte, 0, out);
  rounded.product_with_centre = vector.product_with_centre();
  return rounded;
}

Rounded Rounder::row(const std::byte* row, std::int8_t* out) {
  if (rounding_.lossless) return round_bytes(row, rounding_.cols, rounding_.offset(), out);
  const VectorKind kind = vector_.load(rounding_.base, row);
  if (kind != VectorKind::usual) return unusual(rounding_, kind, out);
  return round_row(rounding_, vector_, out);
}

Rounded Rounder::query(const std::byte* query, std::int8_t* out) {
  if (rounding_.lossless) return round_bytes(query, rounding_.cols, rounding_.offset(), out);
  const VectorKind kind = vector_.load(rounding_.queries, query);
  if (kind != VectorKind::usual) return unusual(rounding_, kind, out);
  return round_query(rounding_, vector_, out);
}

}  // namespace nearfield
