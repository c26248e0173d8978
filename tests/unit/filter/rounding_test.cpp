#include "filter/rounded/rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/decode.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

// How far a vector is from what its bytes stand for, in steps.
double true_loss(const Rounding& rounding, const std::vector<double>& values,
                 const Rounded& rounded, const std::vector<std::int8_t>& bytes, bool centred) {
  long double squares = 0;
  for (const double value : values) squares += static_cast<long double>(value) * value;
  const long double length = rounding.unit ? std::sqrt(squares) : 1;
  long double lost = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const long double centre = centred ? static_cast<long double>(rounding.centre[i]) : 0;
    const long double error =
        values[i] / length - centre - static_cast<long double>(bytes[i]) * rounded.step;
    lost += error * error;
  }
  return static_cast<double>(std::sqrt(lost) / rounded.step);
}

struct Case {
  Metric metric;
  DType dtype;
};

TEST(Rounding, LosesNoMoreThanItSays) {
  std::int64_t usual = 0;
  for (const Case& one : {Case{Metric::sqeuclidean, DType::f32},
                          {Metric::sqeuclidean, DType::f64},
                          {Metric::cosine, DType::f32},
                          {Metric::cosine, DType::u8},
                          {Metric::inner_product, DType::f16},
                          {Metric::inner_product, DType::bf16}}) {
    for (const data::Kind kind : data::kinds()) {
      const Matrix rows = data::make_matrix({kind, one.dtype, 200, 48, 1});
      auto rounding = choose_rounding(one.metric, one.dtype, one.dtype, 48);
      ASSERT_TRUE(rounding);
      ASSERT_FALSE(rounding->lossless);
      fit_rounding(*rounding, rows);
      Rounder rounder(*rounding);
      std::vector<std::int8_t> bytes(48);
      std::vector<double> values(48);
      for (std::int64_t row = 0; row < rows.rows(); ++row) {
        decode_row(one.dtype, rows.row(row), 48, values.data());
        for (const bool query : {false, true}) {
          const Rounded rounded = query ? rounder.query(rows.row(row), bytes.data())
                                        : rounder.row(rows.row(row), bytes.data());
          if (rounded.kind != Rounded::Kind::usual) continue;
          ++usual;
          const bool centred = !query || rounding->form == Form::distance;
          EXPECT_LE(true_loss(*rounding, values, rounded, bytes, centred), rounded.loss)
              << to_string(one.metric) << " " << to_string(one.dtype) << " "
              << data::to_string(kind) << " row " << row << " query " << query;
        }
      }
    }
  }
  EXPECT_GT(usual, 20'000);  // most are, or nothing was tested
}

TEST(Rounding, OrdinaryVectorsLoseLittle) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 500, 128, 1});
  auto rounding = choose_rounding(Metric::sqeuclidean, DType::f32, DType::f32, 128);
  fit_rounding(*rounding, rows);
  Rounder rounder(*rounding);
  std::vector<std::int8_t> bytes(128);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const Rounded rounded = rounder.row(rows.row(row), bytes.data());
    EXPECT_EQ(rounded.kind, Rounded::Kind::usual);
    EXPECT_LT(rounded.loss, 0.05F * rounded.length);
  }
}

TEST(Rounding, BytesAreTakenAsTheyAre) {
  for (const DType dtype : {DType::u8, DType::i8}) {
    const auto rounding = choose_rounding(Metric::sqeuclidean, dtype, dtype, 3);
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
  EXPECT_FALSE(choose_rounding(Metric::l1, DType::f32, DType::f32, 8));
  EXPECT_FALSE(choose_rounding(Metric::hamming, DType::bits, DType::bits, 8));
  EXPECT_FALSE(choose_rounding(Metric::sqeuclidean, DType::f32, DType::f32, 20'000));
  EXPECT_TRUE(choose_rounding(Metric::sqeuclidean, DType::u8, DType::f32, 8));
}

}  // namespace
}  // namespace nearfield
