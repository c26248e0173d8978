#include <nearfield/convert.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/decode.hpp"
#include "core/infinity.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The value as the type holds it, or the misfit as NaN plus a flag.
struct Converted {
  bool fits;
  double value;
};

Converted convert(double value, DType type, Rounding rounding) {
  Matrix into(type, 1, 1);
  const auto misfit = convert_values(MatrixView(&value, 1, 1), rounding, into);
  double out = 0;
  decode_row(type, into.row(0), 1, &out);
  return {!misfit, out};
}

void expect_value(double from, DType type, Rounding rounding, double expected) {
  const auto [fits, value] = convert(from, type, rounding);
  EXPECT_TRUE(fits) << from << " as " << to_string(type);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected))
      << from << " as " << to_string(type) << " became " << value;
}

TEST(Convert, EveryHalfThroughEveryWiderType) {
  for (const DType wide : {DType::f64, DType::f32}) {
    for (std::uint32_t bits = 0; bits < 65'536; ++bits) {
      const Float16 half{static_cast<std::uint16_t>(bits)};
      Matrix number(wide, 1, 1);
      ASSERT_FALSE(convert_values(MatrixView(&half, 1, 1), Rounding::none, number));
      Matrix back(DType::f16, 1, 1);
      ASSERT_FALSE(convert_values(number, Rounding::none, back));
      std::uint16_t got = 0;
      std::memcpy(&got, back.row(0), sizeof got);
      const bool is_nan = (bits & 0x7FFF) > 0x7C00;
      if (is_nan) {
        EXPECT_GT(got & 0x7FFF, 0x7C00);
      } else {
        EXPECT_EQ(got, bits);
      }
    }
  }
}

TEST(Convert, HalvesRoundToNearestTiesToEven) {
  const auto half = [](double from, double expected) {
    expect_value(from, DType::f16, Rounding::to_nearest, expected);
    EXPECT_EQ(convert(from, DType::f16, Rounding::none).fits, from == expected) << from;
  };
  half(1 + 0x1p-11, 1);               // halfway, the even one is below
  half(1 + 3 * 0x1p-11, 1 + 0x1p-9);  // halfway, the even one is above
  half(1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10);
  half(65'519, 65'504);
  half(-65'519, -65'504);
  half(0x1p-25, 0);  // half of the smallest
  half(-0x1p-25, -0.0);
  half(0x1.8p-25, 0x1p-24);
  half(0x1.FFFp-15, 0x1p-14);  // the largest below the normal ones rounds up to them
  half(1e-300, 0);
  EXPECT_FALSE(convert(65'520, DType::f16, Rounding::to_nearest).fits);
  EXPECT_FALSE(convert(-1e9, DType::f16, Rounding::to_nearest).fits);
}

// Rounding to f32 first and then to f16 would give 1.
TEST(Convert, RoundsOnce) {
  expect_value(1 + 0x1p-11 + 0x1p-30, DType::f16, Rounding::to_nearest, 1 + 0x1p-10);
}

TEST(Convert, Integers) {
  const auto rounds = [](double from, DType type, double expected) {
    expect_value(from, type, Rounding::to_nearest, expected);
  };
  rounds(0.5, DType::u8, 0);
  rounds(1.5, DType::u8, 2);
  rounds(2.5, DType::u8, 2);
  rounds(255.4, DType::u8, 255);
  rounds(-0.4, DType::u8, 0);
  rounds(-128.5, DType::i8, -128);
  rounds(-1.5, DType::i8, -2);
  expect_value(-0.0, DType::u8, Rounding::none, 0);
  for (const double wrong : {255.5, 256.0, -0.6, -1.0, kNan, kInfinity}) {
    EXPECT_FALSE(convert(wrong, DType::u8, Rounding::to_nearest).fits) << wrong;
  }
  for (const double wrong : {127.5, 128.0, -129.0, kNan, -kInfinity}) {
    EXPECT_FALSE(convert(wrong, DType::i8, Rounding::to_nearest).fits) << wrong;
  }
  EXPECT_FALSE(convert(0.5, DType::u8, Rounding::none).fits);
}

TEST(Convert, NotFiniteStaysAsItIs) {
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const Rounding rounding : {Rounding::none, Rounding::to_nearest}) {
      expect_value(kInfinity, type, rounding, kInfinity);
      expect_value(-kInfinity, type, rounding, -kInfinity);
      EXPECT_TRUE(convert(kNan, type, rounding).fits);
      EXPECT_TRUE(std::isnan(convert(kNan, type, rounding).value));
    }
  }
  EXPECT_FALSE(convert(1e39, DType::f32, Rounding::to_nearest).fits);
}

TEST(Convert, BrainFloats) {
  expect_value(1 + 0x1p-8, DType::bf16, Rounding::to_nearest, 1);
  expect_value(1 + 3 * 0x1p-8, DType::bf16, Rounding::to_nearest, 1 + 0x1p-6);
  expect_value(0x1p-133, DType::bf16, Rounding::none, 0x1p-133);
  EXPECT_FALSE(convert(0x1.FFp+127, DType::bf16, Rounding::to_nearest).fits);
}

TEST(Convert, FirstMisfitIsNamed) {
  const std::array<float, 6> values{1, 2, 3, 4, 0.5F, 300};
  Matrix into(DType::u8, 2, 3);
  const auto misfit = convert_values(MatrixView(values.data(), 2, 3), Rounding::none, into);
  ASSERT_TRUE(misfit);
  EXPECT_EQ(misfit->row, 1);
  EXPECT_EQ(misfit->col, 1);
  EXPECT_EQ(misfit->value, 0.5);
}

TEST(Convert, WrongShapesAndBits) {
  const std::vector<std::uint8_t> bytes(4);
  Matrix numbers(DType::f32, 2, 3);
  test::expect_error(
      [&] { convert_values(MatrixView(bytes.data(), 2, 2), Rounding::none, numbers); },
      ErrorCode::invalid_argument, {"2 rows x 2 columns", "2 x 3"});
  test::expect_error(
      [&] { convert_values(MatrixView::bits(bytes.data(), 2, 9), Rounding::none, numbers); },
      ErrorCode::invalid_argument, {"bits", "f32"});
}

}  // namespace
}  // namespace nearfield
