// How many pairs a search by tiles still verifies: the bounds are right anywhere, and must be
// tight.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "filter/rounded/bf16_tile_kernel.hpp"
#include "search/knn.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

enum class Tiles { int8, bf16 };

double survivors(const Matrix& queries, const Matrix& base, Metric metric, Tiles tiles) {
  Tuning& tuning = default_tuning();
  tuning.tiles.least_bf16_gain = tiles == Tiles::bf16 ? 0 : std::numeric_limits<double>::infinity();
  const KnnOptions options{.k = 10, .metric = metric};
  const Stats stats = knn(queries, base, options, {.threads = 1}).stats;
  tuning = Tuning();
  EXPECT_TRUE(stats.plan.filter.starts_with(tiles == Tiles::bf16 ? "bf16 tiles" : "int8 tiles"));
  return static_cast<double>(stats.pairs_verified) /
         static_cast<double>(queries.rows() * base.rows());
}

double survivors(data::Kind kind, Metric metric, std::int64_t rows, std::int64_t cols,
                 Tiles tiles = Tiles::int8) {
  return survivors(data::make_matrix({kind, DType::f32, 32, cols, 2}),
                   data::make_matrix({kind, DType::f32, rows, cols, 1}), metric, tiles);
}

// Gaussian directions, and lengths whose logarithms deviate by 1.
Matrix log_normal(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix matrix(DType::f32, rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    Random random(seed, static_cast<std::uint64_t>(i));
    const double length = std::exp(random.normal());
    auto* const row = reinterpret_cast<float*>(matrix.row(i));
    for (std::int64_t j = 0; j < cols; ++j) row[j] = static_cast<float>(length * random.normal());
  }
  return matrix;
}

bool has_bf16() { return bf16_tile_kernel(default_isa()) != nullptr; }

// With a threshold that is known at once and no loss, 20,000 rows leave 0.7 %, of 5,000 2 %.
TEST(Survivors, OfRowsFarFromTheOriginAreThoseOfRowsAroundIt) {
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
    EXPECT_LT(survivors(data::Kind::gaussian, metric, 20'000, 64), 0.013) << to_string(metric);
    EXPECT_LT(survivors(data::Kind::offset, metric, 20'000, 64), 0.03) << to_string(metric);
    EXPECT_LT(survivors(data::Kind::offset_large, metric, 20'000, 64), 0.03) << to_string(metric);
  }
}

TEST(Survivors, OfWideRowsAreFew) {
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
    EXPECT_LT(survivors(data::Kind::gaussian, metric, 5'000, 1024), 0.12) << to_string(metric);
  }
}

// Of which bytes leave 35 % (sqeuclidean) and 7 % (inner_product).
TEST(Survivors, OfBf16AreFewWhereLengthsDiffer) {
  if (!has_bf16()) GTEST_SKIP() << "no tiles of bf16 here";
  const Matrix base = log_normal(10'000, 128, 1);
  const Matrix queries = log_normal(200, 128, 2);
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
    EXPECT_LT(survivors(queries, base, metric, Tiles::bf16), 0.02) << to_string(metric);
  }
}

TEST(Survivors, OfBf16AreFewWhereRowsAreWide) {
  if (!has_bf16()) GTEST_SKIP() << "no tiles of bf16 here";
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
    EXPECT_LT(survivors(data::Kind::gaussian, metric, 5'000, 1024, Tiles::bf16), 0.04)
        << to_string(metric);
  }
}

TEST(Survivors, DecideBetweenInt8AndBf16) {
  if (!has_bf16()) GTEST_SKIP() << "no tiles of bf16 here";
  const auto filter_of = [](const Matrix& queries, const Matrix& base) {
    const Plan plan = plan_knn(MatrixRows(queries), MatrixRows(base));
    EXPECT_EQ(plan.filter, "int8 or bf16 tiles, AMX");
    return knn(queries, base).stats.plan.filter;
  };
  EXPECT_EQ(filter_of(log_normal(200, 128, 2), log_normal(10'000, 128, 1)), "bf16 tiles, AMX");
  EXPECT_EQ(filter_of(data::make_matrix({data::Kind::gaussian, DType::f32, 200, 128, 2}),
                      data::make_matrix({data::Kind::gaussian, DType::f32, 10'000, 128, 1})),
            "int8 tiles, AMX");
}

}  // namespace
}  // namespace nearfield
