#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "distance/row_loader.hpp"
#include "filter/rounded/rounding.hpp"
#include "filter/rounded/rounding_kernel.hpp"

namespace nearfield {

// Vectors as floats, ready to be rounded, one at a time.
class LoadedVector {
 public:
  explicit LoadedVector(const BaseRounding& rounding);
  static std::int64_t bytes(std::int64_t cols) { return cols * 12; }

  // Anything but usual: there are no values.
  VectorKind load(DType dtype, const std::byte* row);

  // Make the values: scaled as the rounding wants it, less the centre, or times a factor.
  void centre();
  void scale(double factor);

  // Of the vector as it was.
  double length() const;
  double product_with_centre() const;

  std::span<float> values() { return values_; }

 private:
  const BaseRounding& rounding_;
  const RoundingKernel& kernel_;
  const RowLoaders& loaders_;
  std::vector<double> decoded_;
  double scale_ = 1;
  std::vector<float> values_;
};

// How far the values may be from the true ones: of such a vector, after centring, of such a centre.
// Each value was scaled and the centre taken off, in float64, off by less than 2^-40 of the vector
// and the centre; rounded to a float and the error of rounding computed, off by 2^-24 of what is
// left.
inline double loading_error(double length, double centre_length) {
  return 0x1p-21 * length + 0x1p-39 * centre_length;
}

}  // namespace nearfield
