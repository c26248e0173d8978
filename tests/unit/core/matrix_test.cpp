#include <nearfield/matrix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <nearfield/error.hpp>

#include "core/decode.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

TEST(Matrix, RowsAreZeroAndAligned) {
  Matrix matrix(DType::f32, 3, 5, Matrix::Layout::aligned_rows);
  EXPECT_EQ(matrix.stride_bytes(), 64);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix.row(i)) % 64, 0u);
    for (int j = 0; j < 64; ++j) EXPECT_EQ(std::to_integer<int>(matrix.row(i)[j]), 0);
  }
  EXPECT_EQ(Matrix(DType::bits, 2, 12).stride_bytes(), 2);
}

TEST(Matrix, EmptyOnesAreValid) {
  EXPECT_EQ(Matrix(DType::f32, 0, 128).view().slice(0, 0).rows(), 0);
  EXPECT_EQ(Matrix().rows(), 0);
  EXPECT_EQ(MatrixView(static_cast<const float*>(nullptr), 0, 128).cols(), 128);
}

TEST(MatrixView, SliceKeepsStride) {
  const std::vector<float> data(12);
  const MatrixView view(data.data(), DType::f32, 3, 2, 16);
  EXPECT_EQ(view.slice(1, 2).row(1), reinterpret_cast<const std::byte*>(data.data() + 8));
}

TEST(MatrixView, ErrorsHoldTheNumbers) {
  const std::vector<float> data(8);
  const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
  const auto bad = ErrorCode::invalid_argument;
  test::expect_error([&] { MatrixView(data.data(), 1, 65'537); }, bad, {"65536", "65537"});
  test::expect_error([&] { MatrixView(data.data(), -1, 2); }, bad, {"rows", "-1"});
  test::expect_error([&] { MatrixView(data.data(), DType::f32, 2, 2, 4); }, bad,
                     {"8 bytes", "got 4"});
  test::expect_error([&] { MatrixView(data.data(), DType::f32, 2, 2, 9); }, bad,
                     {"multiple of 4", "got 9"});
  test::expect_error([&] { MatrixView(bytes + 1, DType::f32, 1, 2); }, bad, {"multiple of 4"});
  test::expect_error([&] { MatrixView(nullptr, DType::f32, 2, 2); }, bad, {"null", "2 rows"});
  test::expect_error([&] { MatrixView(data.data(), 2, 2).slice(1, 3); }, bad,
                     {"3 rows from row 1", "with 2"});
  test::expect_error([&] { parse_dtype("f23"); }, bad, {"f23", "bf16"});
}

TEST(DType, HoldsExactlyTheNarrower) {
  using enum DType;
  const std::vector<std::pair<DType, std::vector<DType>>> holds_table{
      {f64, {f64, f32, f16, bf16, u8, i8}},
      {f32, {f32, f16, bf16, u8, i8}},
      {f16, {f16, u8, i8}},
      {bf16, {bf16, u8, i8}},
      {u8, {u8}},
      {i8, {i8}},
      {bits, {bits}}};
  for (const auto& [wide, narrow] : holds_table) {
    for (int t = 0; t < kDTypeCount; ++t) {
      const auto type = static_cast<DType>(t);
      const bool expected = std::find(narrow.begin(), narrow.end(), type) != narrow.end();
      EXPECT_EQ(holds(wide, type), expected) << to_string(wide) << " " << to_string(type);
    }
  }
}

TEST(Decode, HalvesOfEveryKind) {
  const auto decode16 = [](DType dtype, std::uint16_t bits) {
    double value = 0;
    decode_row(dtype, reinterpret_cast<const std::byte*>(&bits), 1, &value);
    return value;
  };
  EXPECT_EQ(decode16(DType::f16, 0x3C00), 1.0);
  EXPECT_EQ(decode16(DType::f16, 0xC500), -5.0);
  EXPECT_EQ(decode16(DType::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(decode16(DType::f16, 0x7BFF), 65504.0);
  EXPECT_EQ(decode16(DType::f16, 0xFC00), -INFINITY);
  EXPECT_TRUE(std::isnan(decode16(DType::f16, 0x7C01)));
  EXPECT_EQ(decode16(DType::bf16, 0xBF80), -1.0);
  EXPECT_EQ(decode16(DType::bf16, 0x7F80), INFINITY);
}

}  // namespace
}  // namespace nearfield
