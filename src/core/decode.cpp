#include "core/decode.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace nearfield {
namespace {

double decode(double x) { return x; }
double decode(float x) { return x; }
double decode(std::uint8_t x) { return x; }
double decode(std::int8_t x) { return x; }

double decode(BFloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

double decode(Float16 x) {
  const int exponent = x.bits >> 10 & 31;
  const int fraction = x.bits & 1023;
  const double sign = (x.bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// Through memcpy, since the caller's array may have another type of the same layout.
template <class T>
T load(const std::byte* row, std::int64_t i) {
  T value;
  std::memcpy(&value, row + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void decode_as(const std::byte* row, std::int64_t cols, double* out) {
  for (std::int64_t i = 0; i < cols; ++i) out[i] = decode(load<T>(row, i));
}

// An exponent of all ones is NaN or infinity in every IEEE format.
template <class Bits>
bool finite_as(const std::byte* row, std::int64_t cols, Bits exponent) {
  bool finite = true;  // no early exit: the loop vectorises, and rows are finite but for a few
  for (std::int64_t i = 0; i < cols; ++i) finite &= (load<Bits>(row, i) & exponent) != exponent;
  return finite;
}

}  // namespace

void decode_row(DType dtype, const std::byte* row, std::int64_t cols, double* out) {
  switch (dtype) {
    case DType::f64:
      return decode_as<double>(row, cols, out);
    case DType::f32:
      return decode_as<float>(row, cols, out);
    case DType::f16:
      return decode_as<Float16>(row, cols, out);
    case DType::bf16:
      return decode_as<BFloat16>(row, cols, out);
    case DType::u8:
      return decode_as<std::uint8_t>(row, cols, out);
    case DType::i8:
      return decode_as<std::int8_t>(row, cols, out);
    case DType::bits:
      break;
  }
}

bool row_is_finite(DType dtype, const std::byte* row, std::int64_t cols) {
  switch (dtype) {
    case DType::f64:
      return finite_as<std::uint64_t>(row, cols, 0x7FF0'0000'0000'0000);
    case DType::f32:
      return finite_as<std::uint32_t>(row, cols, 0x7F80'0000);
    case DType::f16:
      return finite_as<std::uint16_t>(row, cols, 0x7C00);
    case DType::bf16:
      return finite_as<std::uint16_t>(row, cols, 0x7F80);
    case DType::u8:
    case DType::i8:
    case DType::bits:
      break;
  }
  return true;
}

}  // namespace nearfield
