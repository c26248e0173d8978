// How many pairs a search by tiles still verifies: the bounds are right anywhere, and must be
// tight.
#include <gtest/gtest.h>

#include "filter/rounded/bf16_tile_kernel.hpp"
#include "search/knn.hpp"
#include "tests/force_tiles.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/log_normal.hpp"

namespace nearfield {
namespace {

double survivors(const Matrix& queries, const Matrix& base, Metric metric, TileValues tiles) {
  force_tiles_of(tiles);
  const KnnOptions options{.k = 10, .metric = metric};
  const Stats stats = knn(queries, base, options, {.threads = 1}).stats;
  default_tuning() = Tuning();
  EXPECT_TRUE(
      stats.plan.filter.starts_with(tiles == TileValues::bf16 ? "bf16 tiles" : "int8 tiles"));
  return static_cast<double>(stats.pairs_verified) /
         static_cast<double>(queries.rows() * base.rows());
}

double survivors(data::Kind kind, Metric metric, std::int64_t rows, std::int64_t cols,
                 TileValues tiles = TileValues::int8) {
  return survivors(data::make_matrix({kind, DType::f32, 32, cols, 2}),
                   data::make_matrix({kind, DType::f32, rows, cols, 1}), metric, tiles);
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
    EXPECT_LT(survivors(queries, base, metric, TileValues::bf16), 0.02) << to_string(metric);
  }
}

TEST(Survivors, OfBf16AreFewWhereRowsAreWide) {
  if (!has_bf16()) GTEST_SKIP() << "no tiles of bf16 here";
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
    EXPECT_LT(survivors(data::Kind::gaussian, metric, 5'000, 1024, TileValues::bf16), 0.04)
        << to_string(metric);
  }
}

TEST(Survivors, DecideBetweenInt8AndBf16) {
  if (!has_bf16()) GTEST_SKIP() << "no tiles of bf16 here";
  const Context context{.threads = 1};
  const auto filter_of = [&](const Matrix& queries, const Matrix& base) {
    const Plan plan = plan_knn(MatrixRows(queries), MatrixRows(base), {}, context);
    EXPECT_EQ(plan.filter, "int8 or bf16 tiles, AMX");
    return knn(queries, base, {}, context).stats.plan.filter;
  };
  EXPECT_EQ(filter_of(log_normal(200, 128, 2), log_normal(10'000, 128, 1)), "bf16 tiles, AMX");
  EXPECT_EQ(filter_of(data::make_matrix({data::Kind::gaussian, DType::f32, 200, 128, 2}),
                      data::make_matrix({data::Kind::gaussian, DType::f32, 10'000, 128, 1})),
            "int8 tiles, AMX");
}

// Whatever their rows are: to decide would take longer than could be gained.
TEST(Survivors, AreNotPredictedOfSmallSearches) {
  const Matrix base = log_normal(10'000, 16, 1);
  const Matrix queries = log_normal(200, 16, 2);
  const Plan plan = plan_knn(MatrixRows(queries), MatrixRows(base), {}, {.threads = 1});
  EXPECT_TRUE(plan.filter.starts_with("int8 tiles")) << plan.filter;
}

}  // namespace
}  // namespace nearfield
