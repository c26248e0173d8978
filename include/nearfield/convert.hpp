// Rows of one type as rows of another.
#pragma once

#include <cstdint>
#include <optional>

#include <nearfield/matrix.hpp>

namespace nearfield {

enum class Rounding {
  none,        // every value must be one of the new type
  to_nearest,  // of two values that are equally near, the even one
};

// A value that the new type does not hold.
struct Misfit {
  std::int64_t row;
  std::int64_t col;
  double value;
};

// Writes the rows of `from` to `into`, which has the same shape and another type, and stops at the
// first value that does not fit. What is finite stays finite, or does not fit, also when rounded. A
// NaN is a NaN in every type of floats and fits no integer; -0 is the integer 0. Packed bits are
// not numbers: they are an error.
std::optional<Misfit> convert_values(MatrixView from, Rounding rounding, Matrix& into);

}  // namespace nearfield
