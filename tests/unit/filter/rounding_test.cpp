#include "filter/rounded/rounder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "core/decode.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

using Exact = long double;

Exact product(const std::vector<Exact>& a, const std::vector<Exact>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), Exact{0});
}

// A vector, what its bytes say, and what is known of them.
struct Vector {
  std::vector<Exact> values;
  std::vector<std::int8_t> bytes;
  Rounded rounded;
};

Vector round(const BaseRounding& rounding, const std::byte* row, bool query) {
  const auto cols = static_cast<std::size_t>(rounding.cols);
  Vector vector{{}, std::vector<std::int8_t>(cols), {}};
  std::vector<double> decoded(cols);
  decode_row(rounding.base, row, rounding.cols, decoded.data());
  vector.values.assign(decoded.begin(), decoded.end());
  Rounder rounder(rounding);
  vector.rounded =
      query ? rounder.query(row, vector.bytes.data()) : rounder.row(row, vector.bytes.data());
  if (rounding.unit && vector.rounded.kind == VectorKind::usual) {
    const Exact length = std::sqrt(product(vector.values, vector.values));
    for (Exact& value : vector.values) value /= length;
  }
  return vector;
}

// The theorem of docs/exactness.md, in steps: what the bytes say is off by no more than the losses.
void expect_bound(const BaseRounding& rounding, const Vector& query, const Vector& row) {
  Exact bytes = 0;
  Exact distance = 0;
  Exact centre = 0;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    bytes += Exact{1} * query.bytes[i] * row.bytes[i];
    distance += (query.values[i] - row.values[i]) * (query.values[i] - row.values[i]);
    centre += query.values[i] * rounding.centre[i];
  }
  if (rounding.form == Form::distance) {
    const Exact rounded = std::sqrt(query.rounded.squares + row.rounded.squares - 2 * bytes);
    EXPECT_LE(std::abs(std::sqrt(distance) / rounding.step - rounded),
              Exact{query.rounded.loss} + row.rounded.loss);
  } else {
    const Exact scale = Exact{rounding.step} * query.rounded.step;
    EXPECT_LE(std::abs((product(query.values, row.values) - centre) / scale - bytes),
              Exact{query.rounded.length} * row.rounded.loss +
                  Exact{query.rounded.loss} * row.rounded.length);
  }
}

struct Case {
  Metric metric;
  DType dtype;
};

constexpr Case kCases[] = {
    {Metric::sqeuclidean, DType::f32},   {Metric::sqeuclidean, DType::f64},
    {Metric::cosine, DType::f32},        {Metric::cosine, DType::u8},
    {Metric::inner_product, DType::f16}, {Metric::inner_product, DType::bf16}};

TEST(Rounding, LosesNoMoreThanItSays) {
  const Context context;
  const Monitor monitor(context, 1);
  std::int64_t usual = 0;
  int rotations = 0;
  for (const Case& one : kCases) {
    for (const data::Kind kind : data::kinds()) {
      for (const std::int64_t cols : {3, 48, 64}) {
        const Matrix rows = data::make_matrix({kind, one.dtype, 60, cols, 1});
        auto rounding = choose_rounding(one.metric, one.dtype, one.dtype, cols, default_isa());
        ASSERT_TRUE(rounding);
        ASSERT_FALSE(rounding->lossless);
        fit_rounding(*rounding, rows, monitor);
        rotations += rounding->rotation ? 1 : 0;
        std::vector<Vector> base;
        for (std::int64_t row = 0; row < rows.rows(); ++row) {
          base.push_back(round(*rounding, rows.row(row), false));
        }
        SCOPED_TRACE(fmt::format("{} {} {} {}", to_string(one.metric), to_string(one.dtype),
                                 data::to_string(kind), cols));
        for (std::int64_t row = 0; row < rows.rows(); row += 7) {
          const Vector query = round(*rounding, rows.row(row), true);
          for (const Vector& other : base) {
            if (query.rounded.kind != VectorKind::usual) continue;
            if (other.rounded.kind != VectorKind::usual) continue;
            ++usual;
            expect_bound(*rounding, query, other);
          }
        }
      }
    }
  }
  EXPECT_GT(usual, 50'000);  // most are, or nothing was tested
  EXPECT_GT(rotations, 10);
}

TEST(Rotation, KeepsLengthsAndSpreadsOneDimension) {
  for (const std::size_t cols : {1U, 2U, 3U, 64U, 100U, 768U}) {
    const Rotation rotation(static_cast<std::int64_t>(cols));
    std::vector<float> values(cols);
    values[cols / 2] = 1;
    rotation.apply(rounding_kernel(default_isa()), values);
    double squares = 0;
    float largest = 0;
    for (const float value : values) {
      squares += static_cast<double>(value) * value;
      largest = std::max(largest, std::abs(value));
    }
    EXPECT_NEAR(squares, 1, 1e-5);
    EXPECT_LE(largest, 6 / std::sqrt(static_cast<float>(cols))) << cols;
  }
}

TEST(Rounding, OrdinaryVectorsLoseLittle) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 500, 128, 1});
  auto rounding = choose_rounding(Metric::sqeuclidean, DType::f32, DType::f32, 128, default_isa());
  const Context context;
  const Monitor monitor(context, 1);
  fit_rounding(*rounding, rows, monitor);
  Rounder rounder(*rounding);
  std::vector<std::int8_t> bytes(128);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const Rounded rounded = rounder.row(rows.row(row), bytes.data());
    EXPECT_EQ(rounded.kind, VectorKind::usual);
    EXPECT_LT(rounded.loss, 0.05F * rounded.length);
  }
}

TEST(Rounding, BytesAreTakenAsTheyAre) {
  for (const DType dtype : {DType::u8, DType::i8}) {
    const auto rounding = choose_rounding(Metric::sqeuclidean, dtype, dtype, 3, default_isa());
    ASSERT_TRUE(rounding);
    EXPECT_TRUE(rounding->lossless);
    const std::vector<std::uint8_t> row{0, 1, 255};
    std::vector<std::int8_t> bytes(3);
    const Rounded rounded =
        Rounder(*rounding).row(reinterpret_cast<const std::byte*>(row.data()), bytes.data());
    const int first = dtype == DType::u8 ? -128 : 0;
    EXPECT_EQ(bytes, (std::vector<std::int8_t>{
                         static_cast<std::int8_t>(first), static_cast<std::int8_t>(first + 1),
                         static_cast<std::int8_t>(dtype == DType::u8 ? 127 : -1)}));
    EXPECT_EQ(rounded.loss, 0);
    EXPECT_EQ(rounded.sum, bytes[0] + bytes[1] + bytes[2]);
  }
}

TEST(Rounding, IsNotForEverything) {
  EXPECT_FALSE(choose_rounding(Metric::l1, DType::f32, DType::f32, 8, default_isa()));
  EXPECT_FALSE(choose_rounding(Metric::hamming, DType::bits, DType::bits, 8, default_isa()));
  EXPECT_FALSE(choose_rounding(Metric::sqeuclidean, DType::f32, DType::f32, 20'000, default_isa()));
  EXPECT_TRUE(choose_rounding(Metric::sqeuclidean, DType::u8, DType::f32, 8, default_isa()));
}

}  // namespace
}  // namespace nearfield
