// How many pairs a search by tiles still verifies: the bounds are right anywhere, and must be
// tight.
#include <gtest/gtest.h>

#include "search/knn.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

double survivors(data::Kind kind, Metric metric, std::int64_t rows, std::int64_t cols) {
  const Matrix base = data::make_matrix({kind, DType::f32, rows, cols, 1});
  const Matrix queries = data::make_matrix({kind, DType::f32, 32, cols, 2});
  const KnnOptions options{.k = 10, .metric = metric};
  const Stats stats = knn(queries, base, options, {.threads = 1}).stats;
  EXPECT_NE(stats.plan.filter.find("int8 tiles"), std::string::npos);
  return static_cast<double>(stats.pairs_verified) / static_cast<double>(32 * rows);
}

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

}  // namespace
}  // namespace nearfield
