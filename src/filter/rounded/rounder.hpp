// Vectors as bytes, and what is known of the loss.
#pragma once

#include <cstddef>
#include <cstdint>

#include "filter/rounded/loaded_vector.hpp"
#include "filter/rounded/rounding.hpp"

namespace nearfield {

// Steps that a value may lose on average before its vector is no longer worth a bound: half of what
// a byte holds.
inline constexpr double kMostLoss = 64;

// Added to bounds, in steps: more than what vanishes below the smallest numbers of a float.
inline constexpr double kSlack = 1e-4;

// What is known of a vector after rounding.
struct Rounded {
  VectorKind kind = VectorKind::usual;
  std::int32_t sum = 0;      // of its bytes
  std::int32_t squares = 0;  // of them
  // In steps, and rounded up: how far it is from what its bytes stand for, and from zero.
  float loss = 0;
  float half_square = 0;  // of the loss
  float length = 0;
  float step = 1;
  double product_with_centre = 0;  // of a query of the product form
};

// Of a usual vector that is loaded, whose values change; of a rounding that loses something. Write
// cols bytes.
Rounded round_row(const BaseRounding& rounding, LoadedVector& vector, std::int8_t* out);
Rounded round_query(const BaseRounding& rounding, LoadedVector& vector, std::int8_t* out);

// Loads and rounds vectors, one at a time.
class Rounder {
 public:
  explicit Rounder(const BaseRounding& rounding) : rounding_(rounding), vector_(rounding) {}
  static std::int64_t bytes(std::int64_t cols) { return LoadedVector::bytes(cols); }

  // Write cols bytes, of an unusual vector zeros.
  Rounded row(const std::byte* row, std::int8_t* out);
  Rounded query(const std::byte* query, std::int8_t* out);

 private:
  const BaseRounding& rounding_;
  LoadedVector vector_;
};

}  // namespace nearfield
