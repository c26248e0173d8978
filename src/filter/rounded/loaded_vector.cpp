#include "filter/rounded/loaded_vector.hpp"

#include <cmath>

namespace nearfield {

LoadedVector::LoadedVector(const BaseRounding& rounding)
    : rounding_(rounding),
      kernel_(rounding_kernel(rounding.isa)),
      loaders_(row_loaders(rounding.isa)),
      decoded_(static_cast<std::size_t>(rounding.cols)),
      values_(static_cast<std::size_t>(rounding.cols)) {}

VectorKind LoadedVector::load(DType dtype, const std::byte* row) {
  const RowLoader load = loaders_[static_cast<std::size_t>(dtype)];
  if (!load(row, rounding_.cols, decoded_.data())) return VectorKind::never;
  const std::optional<double> scale = scale_of(rounding_, decoded_);
  scale_ = scale.value_or(1);
  return scale ? VectorKind::usual : VectorKind::always;
}

// In float64: what lies far from the origin beside its spread would lose the spread in float32.
void LoadedVector::centre() {
  kernel_.centre(decoded_.data(), scale_, rounding_.centre.data(), rounding_.cols, values_.data());
}

void LoadedVector::scale(double factor) {
  kernel_.scale(decoded_.data(), scale_ * factor, rounding_.cols, values_.data());
}

double LoadedVector::length() const {
  return std::sqrt(kernel_.sum_of_squares(decoded_.data(), rounding_.cols));
}

double LoadedVector::product_with_centre() const {
  double sum = 0;
  for (std::size_t i = 0; i < decoded_.size(); ++i) sum += decoded_[i] * rounding_.centre[i];
  return sum;
}

}  // namespace nearfield
