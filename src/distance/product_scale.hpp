// Products in low precision: how values are scaled before they are rounded to halves, and how far
// the sums may be off then.
#pragma once

#include <cstdint>

#include <nearfield/matrix.hpp>

namespace nearfield {

// f16: halves, added up in 32 bits. f16_acc16: added up in 16 bits. i8: bytes, exact.
enum class ProductKind : std::uint8_t { f16, f16_acc16, i8 };

// Values are multiplied by two to the power of it.
struct ProductScale {
  int queries = 0;
  int rows = 0;
};

// The largest absolute value that is finite.
double largest_value(MatrixView rows, int threads);

// For vectors of such largest values, so that no half and no sum of them overflows, unless a sum of
// so many of their squares is no float32 either.
ProductScale product_scale(double largest_query, double largest_row, std::int64_t cols,
                           ProductKind kind);

// How far a product of scaled, rounded vectors is at most from the true one, where the magnitudes
// of its terms come to `magnitudes`. Of any implementation, in any order.
double product_error(ProductKind kind, std::int64_t cols, double magnitudes);

}  // namespace nearfield
