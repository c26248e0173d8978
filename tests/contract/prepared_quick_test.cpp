// A prepared base gives the oracle's answers, for few queries and many.
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield::contract {
namespace {

using test::expect_error;

constexpr std::array kMetrics{Metric::sqeuclidean, Metric::euclidean, Metric::inner_product,
                              Metric::cosine};

TEST(Prepared, EqualsTheOracleOnEveryIsa) {
  for (const Metric metric : kMetrics) {
    for (const DType dtype : types_of(MetricInput::numbers, Types::all)) {
      for (const data::Kind kind : {data::Kind::gaussian, data::Kind::with_non_finite}) {
        const Matrix base = data::make_matrix({kind, dtype, 150, 21, 3});
        const Matrix queries = data::make_matrix({kind, dtype, 34, 21, 4});
        const KnnOptions options = nearest(5, metric);
        const oracle::Answer want = oracle::knn(queries, base, options);
        for (const Isa isa : swept_isas()) {
          const PreparedRows prepared(base, metric, forced(isa));
          const Neighbors got = knn(MatrixRows(queries), prepared, options, forced(isa));
          ASSERT_EQ(mismatch(got, want, metric), "") << to_string(isa) << ' ' << to_string(dtype);
          EXPECT_NE(got.stats.plan.filter.find(", prepared"), std::string::npos);
        }
      }
    }
  }
}

TEST(Prepared, FewQueriesThreadsAndFiltersDoNotMatter) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 9000, 24, 1});
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 40, 24, 2});
  const std::vector<std::uint64_t> words(9000 / 64 + 1, 0x00FF'00FF'F0F0'1111);
  for (const RowFilter& filter : {RowFilter(), RowFilter::bitset(words)}) {
    const KnnOptions options = nearest(10, Metric::sqeuclidean, filter);
    for (const int threads : {1, 2, 7}) {
      const PreparedRows prepared(base, Metric::sqeuclidean, {.threads = threads});
      for (const std::int64_t count : {1, 2, 31, 40}) {
        const MatrixView some = queries.view().slice(40 - count, count);
        const Neighbors got = knn(MatrixRows(some), prepared, options, {.threads = threads});
        EXPECT_EQ(mismatch(got, oracle::knn(some, base, options), Metric::sqeuclidean), "");
        // Tiles decide about nearly all rows.
        EXPECT_LT(got.stats.pairs_verified, count * 9000 / 4);
      }
    }
  }
}

TEST(Prepared, OtherSearchesTakeIt) {
  const Matrix base = data::make_matrix({data::Kind::small_integers, DType::u8, 300, 10, 1});
  const PreparedRows prepared(base, Metric::euclidean);
  const KnnOptions options = nearest(4, Metric::euclidean);
  const Matrix queries = data::make_matrix({data::Kind::small_integers, DType::u8, 3, 10, 2});
  const Ranges ranges = within(MatrixRows(queries), prepared,
                               {.radius = 3.0, .metric = Metric::euclidean}, forced(default_isa()));
  EXPECT_EQ(mismatch(ranges, oracle::within(queries, base, 3.0, options)), "");
  EXPECT_GT(ranges.ids.size(), 0u);

  KnnOptions others = options;
  others.exclude_self = true;
  const Neighbors found = graph(prepared, {.k = 4, .metric = Metric::euclidean});
  EXPECT_EQ(mismatch(found, oracle::knn(base, base, others), Metric::euclidean, "graph"), "");
}

TEST(Prepared, QueriesOfAnotherTypeAreRoundedLikeTheBase) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 200, 16, 1});
  const Matrix bytes = data::make_matrix({data::Kind::gaussian, DType::u8, 9, 16, 2});
  const KnnOptions options = nearest(6);
  const PreparedRows prepared(base, Metric::sqeuclidean);
  const Neighbors found = knn(MatrixRows(bytes), prepared, options);
  EXPECT_EQ(mismatch(found, oracle::knn(bytes, base, options), Metric::sqeuclidean), "");
  EXPECT_NE(found.stats.plan.filter.find(", prepared"), std::string::npos);

  // Bytes kept as they are know nothing of fractions.
  const PreparedRows lossless(bytes, Metric::sqeuclidean);
  const Neighbors wider = knn(MatrixRows(base), lossless, options);
  EXPECT_EQ(mismatch(wider, oracle::knn(base, bytes, options), Metric::sqeuclidean), "");
  EXPECT_EQ(wider.stats.plan.filter.find(", prepared"), std::string::npos);
}

TEST(Prepared, MovesAndSaysWhatItHolds) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 1000, 128, 1});
  PreparedRows first(base, Metric::cosine);
  const PreparedRows prepared = std::move(first);
  EXPECT_EQ(prepared.metric(), Metric::cosine);
  EXPECT_GE(prepared.bytes(), 1000 * 128);
  EXPECT_LE(prepared.bytes(), 1000 * (128 + 8));
  const KnnOptions options = nearest(3, Metric::cosine);
  const MatrixView queries = base.view().slice(0, 20);
  EXPECT_EQ(mismatch(knn(MatrixRows(queries), prepared, options),
                     oracle::knn(queries, base, options), Metric::cosine),
            "");
}

TEST(Prepared, SaysWhyNot) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 100, 8, 1});
  expect_error([&] { const PreparedRows rows(base, Metric::l1); }, ErrorCode::unsupported,
               {"8 columns of f32", "l1", "search the rows as they are"});
  expect_error([&] { const PreparedRows rows(base, Metric::cosine, {.memory_limit = 1000}); },
               ErrorCode::memory_limit, {"100 rows of 8 columns", "1000"});
  const PreparedRows prepared(base, Metric::cosine);
  expect_error([&] { knn(MatrixRows(base), prepared, nearest(3)); }, ErrorCode::invalid_argument,
               {"prepared for cosine", "sqeuclidean"});
  // Where there is another.
  if (const Isa other = available_isas().front(); other != default_isa()) {
    expect_error(
        [&] { knn(MatrixRows(base), prepared, nearest(3, Metric::cosine), forced(other)); },
        ErrorCode::invalid_argument, {"prepared for", to_string(other)});
  }
}

TEST(Prepared, StopsAndShowsProgress) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 5000, 32, 1});
  Context context;
  context.cancel.cancel();
  expect_error([&] { const PreparedRows rows(base, Metric::cosine, context); },
               ErrorCode::cancelled, {});
  Progress last{};
  const PreparedRows rows(base, Metric::cosine,
                          {.progress = [&](const Progress& progress) { last = progress; }});
  EXPECT_EQ(last.done, 5000);
  EXPECT_EQ(last.total, 5000);
}

}  // namespace
}  // namespace nearfield::contract
