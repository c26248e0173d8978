#include "search/seeds.hpp"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <nearfield/knn.hpp>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kQueries = 40;
constexpr std::int64_t kSeedRows = 31 * 500;

Matrix rows_of(DType dtype, std::int64_t rows, std::uint64_t seed) {
  return data::make_matrix({data::Kind::gaussian, dtype, rows, 24, seed});
}

TEST(Seeds, AreTakenWhereTheySaveSomething) {
  const Matrix matrix = rows_of(DType::u8, kSeedRows, 1);
  const MatrixRows rows(matrix);
  EXPECT_FALSE(choose_sampling(rows, {}, 0));
  EXPECT_FALSE(choose_sampling(rows, {}, 10));   // the sample's rank would be nearly as large
  EXPECT_FALSE(choose_sampling(rows, {}, 600));  // more than are sampled
  const auto sampling = choose_sampling(rows, {}, 150);
  ASSERT_TRUE(sampling);
  EXPECT_EQ(sampling->rows.rows(), 500);
  EXPECT_EQ(sampling->rows.in_memory()->row(3), matrix.row(93));
  EXPECT_GT(sampling->rank, 150 / 31);
  EXPECT_LT(sampling->rank, 150);
}

TEST(Seeds, SaveWhatWouldBeKeptOnTheWay) {
  for (const DType dtype : {DType::u8, DType::f32}) {
    const Matrix rows = rows_of(dtype, kSeedRows, 1);
    const Matrix queries = rows_of(dtype, kQueries, 2);
    const KnnOptions options{.k = 150};
    const Neighbors found = knn(queries, rows, options);
    EXPECT_EQ(oracle::difference(found, oracle::knn(queries, rows, options)), "");
    EXPECT_EQ(found.stats.pairs_considered, kQueries * kSeedRows);
    const Neighbors without = knn(queries, rows, options, {.memory_limit = 1 << 30});
    EXPECT_LT(found.stats.pairs_verified, without.stats.pairs_verified * 9 / 10)
        << to_string(dtype);
  }
}

TEST(Seeds, OfRowsThatMayBeFound) {
  const Matrix rows = rows_of(DType::f32, kSeedRows, 1);
  const Matrix queries = rows_of(DType::f32, kQueries, 2);
  const data::RowChoice half(RowFilter::Kind::bitset, kSeedRows, 3);
  const KnnOptions options{.k = 150, .filter = half.filter()};
  const Neighbors found = knn(queries, rows, options);
  EXPECT_EQ(oracle::difference(found, oracle::knn(queries, rows, options)), "");
  const Neighbors without = knn(queries, rows, options, {.memory_limit = 1 << 30});
  EXPECT_LT(found.stats.pairs_verified, without.stats.pairs_verified * 9 / 10);
  const data::RowChoice list(RowFilter::Kind::list, kSeedRows, 3);
  EXPECT_FALSE(choose_sampling(MatrixRows(rows), list.filter(), 150));
}

// Those that are sampled are near and all others far, so that every guess is too low.
TEST(Seeds, ThatMislead) {
  const Matrix queries = rows_of(DType::u8, kQueries, 2);
  Matrix rows = rows_of(DType::u8, kSeedRows, 1);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    if (row % 31 != 0) {
      std::memset(rows.row(row), 200 + static_cast<int>(row % 50), 24);
    } else {
      std::memcpy(rows.row(row), queries.row(row % kQueries), 24);
    }
  }
  const KnnOptions options{.k = 499};
  const Neighbors found = knn(queries, rows, options);
  EXPECT_EQ(oracle::difference(found, oracle::knn(queries, rows, options)), "");
  // Without guesses, each row once; with them, some of the sample, few, and all again.
  EXPECT_GT(found.stats.pairs_verified,
            knn(queries, rows, options, {.memory_limit = 1 << 30}).stats.pairs_verified);
}

// Of 25 rows the product overflows, so that their keys and the guess are -infinity, and 25 are too
// few.
TEST(Seeds, ThatAreInfinite) {
  Matrix rows(DType::f64, kSeedRows, 2);
  Matrix queries(DType::f64, kQueries, 2);
  for (std::int64_t row = 0; row < kSeedRows; ++row) {
    const double value = row % (31 * 20) == 0 ? 1e200 : static_cast<double>(row % 97) * 1e90;
    std::memcpy(rows.row(row), &value, sizeof(value));
  }
  for (std::int64_t query = 0; query < kQueries; ++query) {
    const double value = 1e200;
    std::memcpy(queries.row(query), &value, sizeof(value));
  }
  const KnnOptions options{.k = 150, .metric = Metric::inner_product};
  EXPECT_EQ(oracle::difference(knn(queries, rows, options), oracle::knn(queries, rows, options)),
            "");
}

TEST(Seeds, OfQueriesAndRowsThatAreNotFinite) {
  const Matrix rows =
      data::make_matrix({data::Kind::with_non_finite, DType::f32, kSeedRows, 24, 1});
  const Matrix queries =
      data::make_matrix({data::Kind::with_non_finite, DType::f32, kQueries, 24, 3});
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
    const KnnOptions options{.k = 150, .metric = metric};
    EXPECT_EQ(oracle::difference(knn(queries, rows, options), oracle::knn(queries, rows, options)),
              "");
  }
}

}  // namespace
}  // namespace nearfield
