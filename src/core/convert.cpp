#include <nearfield/convert.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/byte_type.hpp"
#include "core/decode.hpp"
#include "core/fail.hpp"
#include "core/float_environment.hpp"

namespace nearfield {
namespace {

// The nearest number with so many bits of significand and no bit below 2^least_exponent.
double round_to(double x, int significand_bits, int least_exponent) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int last_bit = std::max(std::ilogb(x) - significand_bits + 1, least_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(x, -last_bit)), last_bit);
}

// Ties to even in all of these; +-inf where it is too large, and a NaN stays one.
double encode(double x, double*) { return x; }
float encode(double x, float*) { return static_cast<float>(x); }

BFloat16 encode(double x, BFloat16*) {
  const auto rounded = static_cast<float>(round_to(x, 8, -133));
  return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16)};
}

Float16 encode(double x, Float16*) {
  constexpr std::uint16_t kInfinity = 0x7C00;
  constexpr std::uint16_t kNan = 0x7E00;
  constexpr double kLargest = 65'504;
  constexpr double kLeastNormal = 0x1p-14;
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::abs(round_to(x, 11, -24));
  const auto with_sign = [sign](int bits) {
    return Float16{static_cast<std::uint16_t>(sign | bits)};
  };
  if (std::isnan(x)) return with_sign(kNan);
  if (size > kLargest) return with_sign(kInfinity);
  if (size < kLeastNormal) return with_sign(static_cast<int>(std::ldexp(size, 24)));
  const int exponent = std::ilogb(size);
  const int fraction = static_cast<int>(std::ldexp(size, 10 - exponent)) - 1024;
  return with_sign((exponent + 15) << 10 | fraction);
}

// What does not fit becomes 0, which is then seen to be another number.
template <class Integer>
Integer encode(double x, Integer*)
  requires std::is_integral_v<Integer>
{
  using Limits = std::numeric_limits<Integer>;
  const double rounded = std::nearbyint(x);
  return rounded >= Limits::min() && rounded <= Limits::max() ? static_cast<Integer>(rounded) : 0;
}

// Whether `now`, the float64 of what was encoded, may stand for `before`.
bool fits(double before, double now, DType type, Rounding rounding) {
  if (std::isnan(before)) return std::isnan(now);
  if (rounding == Rounding::none || std::isinf(before)) return now == before;
  const bool integers = is_byte(type);
  return integers ? now == std::nearbyint(before) : std::isfinite(now);
}

template <class T>
void encode_as(const std::vector<double>& values, std::byte* out) {
  for (const double value : values) {
    const T encoded = encode(value, static_cast<T*>(nullptr));
    std::memcpy(out, &encoded, sizeof encoded);
    out += sizeof encoded;
  }
}

void encode_row(DType dtype, const std::vector<double>& values, std::byte* out) {
  switch (dtype) {
    case DType::f64:
      return encode_as<double>(values, out);
    case DType::f32:
      return encode_as<float>(values, out);
    case DType::f16:
      return encode_as<Float16>(values, out);
    case DType::bf16:
      return encode_as<BFloat16>(values, out);
    case DType::u8:
      return encode_as<std::uint8_t>(values, out);
    case DType::i8:
      return encode_as<std::int8_t>(values, out);
    case DType::bits:
      break;
  }
}

void check_shapes(MatrixView from, const Matrix& into) {
  if (from.dtype() == DType::bits || into.dtype() == DType::bits) {
    fail(ErrorCode::invalid_argument, "{} cannot be converted to {}: packed bits are not numbers",
         to_string(from.dtype()), to_string(into.dtype()));
  }
  if (from.rows() != into.rows() || from.cols() != into.cols()) {
    fail(ErrorCode::invalid_argument, "{} rows x {} columns cannot be converted into {} x {}",
         from.rows(), from.cols(), into.rows(), into.cols());
  }
}

}  // namespace

std::optional<Misfit> convert_values(MatrixView from, Rounding rounding, Matrix& into) {
  check_shapes(from, into);
  const DefaultFloats floats;
  std::vector<double> before(static_cast<std::size_t>(from.cols()));
  std::vector<double> now(before.size());
  for (std::int64_t row = 0; row < from.rows(); ++row) {
    decode_row(from.dtype(), from.row(row), from.cols(), before.data());
    encode_row(into.dtype(), before, into.row(row));
    decode_row(into.dtype(), into.row(row), into.cols(), now.data());
    for (std::size_t col = 0; col < before.size(); ++col) {
      if (!fits(before[col], now[col], into.dtype(), rounding)) {
        return Misfit{row, static_cast<std::int64_t>(col), before[col]};
      }
    }
  }
  return std::nullopt;
}

}  // namespace nearfield
