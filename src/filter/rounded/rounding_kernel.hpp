// The loops over the values of a vector while it is rounded, for each ISA.
#pragma once

#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

inline constexpr float kLargestByte = 127;

// Of a vector whose values became bytes.
struct RoundedValues {
  double lost = 0;  // at least the sum of squares of the differences, and little more
  std::int32_t sum = 0;
  std::int32_t squares = 0;
};

// Of a vector whose values became bf16; relative errors of these sums are below 2^-40.
struct RoundedToBf16 {
  double lost = 0;     // the sum of squares of the differences
  double squares = 0;  // of what they became
};

struct RoundingKernel {
  double (*sum_of_squares)(const double* values, std::int64_t count);

  // Of two vectors, roughly.
  double (*product)(const float* x, const float* y, std::int64_t count);

  void (*scale)(const double* values, double factor, std::int64_t count, float* out);

  // The same, less the centre, rounded to a float once.
  void (*centre)(const double* values, double factor, const float* centre, std::int64_t count,
                 float* out);

  // To the nearest multiple of the step that a byte holds.
  RoundedValues (*round)(const float* values, float step, std::int64_t count, std::int8_t* bytes);

  // To the nearest bf16, even if two are.
  RoundedToBf16 (*round_to_bf16)(const float* values, std::int64_t count, std::uint16_t* out);

  // Multiplies by the signs, then Hadamard's transform, divided by the root of the count, which
  // makes it a rotation. The count is a power of two.
  void (*transform)(const float* signs, std::int64_t count, float* values);
};

// The same bytes from each of them.
const RoundingKernel& rounding_kernel(Isa isa);

}  // namespace nearfield
