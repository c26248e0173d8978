// No way of cutting the work changes the answer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include <nearfield/graph.hpp>

#include "scan/top_k_sink.hpp"
#include "search/knn.hpp"
#include "search/value_cost.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

TEST(KnnTiles, AnySizeGivesTheOraclesAnswer) {
  // Many ties, so that a wrong merge shows.
  const Matrix queries = data::make_matrix({data::Kind::small_integers, DType::u8, 37, 12, 1});
  const Matrix base = data::make_matrix({data::Kind::small_integers, DType::u8, 900, 12, 2});
  KnnOptions options;
  options.k = 13;
  const oracle::Answer want = oracle::knn(queries, base, options);
  Context context;
  for (const int threads : {1, 3}) {
    for (const std::int64_t block_pairs : {7, 100, 4096, 1 << 20}) {
      for (const std::int64_t row_tile_bytes : {1, 500, 1 << 20}) {
        for (const std::int64_t budget : {20'000, 100'000, 1 << 30}) {
          context.threads = threads;
          Tuning tuning;
          tuning.block_pairs = block_pairs;
          tuning.row_tile_bytes = row_tile_bytes;
          tuning.default_budget = budget;
          tuning.chunk_bytes = budget / 2;
          tuning.inline_below_nanoseconds = 0;
          tuning.tiles.rows = row_tile_bytes;
          tuning.tiles.queries = row_tile_bytes;
          tuning.tiles.first_rows = block_pairs < 100 ? 32 : 512;
          tuning.tiles.least_rows = 0;
          tuning.tiles.least_queries = block_pairs == 4096 ? 1000 : 1;  // without tiles, too
          const Neighbors resident =
              knn(MatrixRows(queries), MatrixRows(base), options, context, tuning);
          EXPECT_EQ(oracle::difference(resident, want), "");
          const Neighbors read = knn(data::PiecewiseRows(queries), data::PiecewiseRows(base),
                                     options, context, tuning);
          EXPECT_EQ(oracle::difference(read, want), "");
        }
      }
    }
  }
}

// Where all rows meet all others, each pair is looked at once: also where threads, tiles and bounds
// make it hard.
TEST(KnnTiles, APairIsLookedAtOnceForBothOfItsRows) {
  for (const DType dtype : {DType::u8, DType::i8, DType::f32}) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
      for (const data::Kind kind :
           {data::Kind::small_integers, data::Kind::gaussian, data::Kind::with_non_finite,
            data::Kind::wild_norms, data::Kind::huge}) {
        const Matrix base = data::make_matrix({kind, dtype, 400, 12, 2});
        const MatrixRows rows(base);
        KnnOptions options;
        options.k = 7;
        options.metric = metric;
        options.exclude_self = true;
        const oracle::Answer want = oracle::knn(base, base, options);
        for (const Isa isa : available_isas()) {
          for (const std::int64_t tile : {32, 96, 512}) {
            Tuning tuning;
            tuning.inline_below_nanoseconds = 0;
            tuning.tiles.rows = tile == 512 ? 64 : tile;  // fewer than queries, as many, more
            tuning.tiles.queries = tile;
            tuning.tiles.least_rows = 0;
            Context context;
            context.isa = isa;
            context.threads = tile == 96 ? 1 : 3;
            Progress last;
            context.progress = [&](const Progress& progress) { last = progress; };
            const Neighbors found = knn(rows, rows, options, context, tuning);
            EXPECT_EQ(oracle::difference(found, want), "")
                << to_string(isa) << ' ' << to_string(dtype) << ' ' << to_string(metric) << ' '
                << data::to_string(kind) << ' ' << tile;
            EXPECT_EQ(found.stats.pairs_considered, 400 * 400);
            EXPECT_EQ(last.done, last.total);
          }
        }
      }
    }
  }
}

// Tiles of as few queries as there can be.
TEST(KnnTiles, SmallAndWideGraphs) {
  for (const auto& [rows, cols] : {std::pair{100, 8}, std::pair{200, 1536}, std::pair{1, 3}}) {
    const Matrix base = data::make_matrix({data::Kind::gaussian, DType::u8, rows, cols, 2});
    KnnOptions options;
    options.k = 5;
    options.exclude_self = true;
    const oracle::Answer want = oracle::knn(base, base, options);
    for (const int threads : {1, 4}) {
      const Neighbors found = graph(MatrixRows(base), {.k = 5}, {.threads = threads});
      EXPECT_EQ(oracle::difference(found, want), "") << rows << " x " << cols;
    }
  }
}

TEST(KnnTiles, AnySizeOfBitBlocksGivesTheOraclesAnswer) {
  KnnOptions options;
  options.k = 13;
  options.metric = Metric::hamming;
  for (const std::int64_t bits : {9, 300}) {
    const Matrix queries = data::make_matrix({data::Kind::uniform, DType::bits, 37, bits, 1});
    const Matrix base = data::make_matrix({data::Kind::uniform, DType::bits, 900, bits, 2});
    const oracle::Answer want = oracle::knn(queries, base, options);
    for (const int threads : {1, 3}) {
      for (const std::int64_t rows : {1, 100, 4096}) {
        for (const std::int64_t least_tile_queries : {1, 1000}) {
          for (const std::int64_t budget : {100'000, 1 << 30}) {
            Context context;
            context.threads = threads;
            Tuning tuning;
            tuning.bits.rows = tuning.bits.few_queries_rows = rows;
            tuning.bits.queries = rows;
            tuning.bits.least_tile_queries = least_tile_queries;
            tuning.default_budget = budget;
            tuning.chunk_bytes = budget / 2;
            tuning.inline_below_nanoseconds = 0;
            tuning.tiles.first_rows = 32;
            const Neighbors resident =
                knn(MatrixRows(queries), MatrixRows(base), options, context, tuning);
            EXPECT_EQ(oracle::difference(resident, want), "");
            EXPECT_NE(resident.stats.plan.filter.find("bit"), std::string::npos);
            const Neighbors read = knn(data::PiecewiseRows(queries), data::PiecewiseRows(base),
                                       options, context, tuning);
            EXPECT_EQ(oracle::difference(read, want), "");
          }
        }
      }
    }
  }
}

TEST(KnnTiles, RowsOfNoBitsAreAllEqual) {
  const Matrix base(DType::bits, 5, 0);
  KnnOptions options;
  options.k = 2;
  options.metric = Metric::hamming;
  for (const std::int64_t count : {3, 200}) {
    const Neighbors found = knn(Matrix(DType::bits, count, 0), base, options);
    EXPECT_EQ(found.ids_of(count - 1)[0], 0);
    EXPECT_EQ(found.ids_of(count - 1)[1], 1);
    EXPECT_EQ(found.keys_of(count - 1)[1], 0);
  }
}

// All queries of a block share what its rows cost: threads get rows, not queries.
TEST(KnnPlan, BitBlocksKeepTheirQueries) {
  const Matrix queries(DType::bits, 1000, 512);
  const Matrix base(DType::bits, 100'000, 512);
  KnnOptions options;
  options.metric = Metric::hamming;
  Context context;
  context.threads = 4;
  const Plan many = plan_knn(MatrixRows(queries), MatrixRows(base), options, context);
  EXPECT_GE(many.query_tile, 1000);
  EXPECT_GT(many.row_parts, 4);
  const Plan one =
      plan_knn(MatrixRows(queries.view().slice(0, 1)), MatrixRows(base), options, context);
  EXPECT_EQ(one.filter, "bit counts");
  EXPECT_EQ(one.query_tile, 1);
  EXPECT_EQ(one.row_tile, 4096);
}

TEST(KnnPlan, RowsWithoutColumnsHaveOne) {
  const Matrix rows(DType::f32, 100, 0);
  EXPECT_EQ(plan_knn(MatrixRows(rows), MatrixRows(rows), {.k = 2}, {}).filter, "every row");
  const Neighbors found = knn(rows, rows, {.k = 2});
  EXPECT_EQ(found.ids_of(99)[1], 1);
}

TEST(KnnPlan, BlocksOfACostlyMetricHoldFewerPairs) {
  SearchShape shape;
  shape.queries = 100;
  shape.rows = 100'000;
  shape.base_row_bytes = 4096 * 4;
  shape.threads = 8;
  for (const std::int64_t cols : {16, 4096, 65'536}) {
    shape.cols = cols;
    shape.value_cost = value_cost(lp(1.37));
    const Plan costly = make_plan(shape, Tuning());
    const std::int64_t pairs = costly.query_tile * costly.row_tile;
    EXPECT_LE(static_cast<double>(pairs * cols) * shape.value_cost,
              static_cast<double>(Tuning().block_values))
        << cols;
    shape.value_cost = value_cost(Metric::l1);
    const Plan plain = make_plan(shape, Tuning());
    EXPECT_GT(plain.query_tile * plain.row_tile, pairs) << cols;
  }
}

TEST(KnnPlan, ASmallSearchOfACostlyMetricUsesThreads) {
  SearchShape shape;
  shape.queries = 10;
  shape.rows = 1000;
  shape.cols = 16;
  shape.threads = 8;
  EXPECT_EQ(make_plan(shape, Tuning()).threads, 1);
  shape.value_cost = value_cost(lp(1.37));
  EXPECT_EQ(make_plan(shape, Tuning()).threads, 8);
}

TEST(KnnPlan, OneQueryKeepsAllThreadsBusy) {
  SearchShape shape;
  shape.queries = 1;
  shape.rows = 1'000'000;
  shape.cols = 128;
  shape.sink_bytes = TopKSink::bytes_per_query(10);
  shape.base_row_bytes = 512;
  shape.threads = 8;
  const Plan plan = make_plan(shape, Tuning());
  EXPECT_EQ(plan.threads, 8);
  EXPECT_GE(plan.row_parts, 8);
  EXPECT_GE(plan.row_tile, 16'384);
}

TEST(KnnPlan, SmallWorkStaysOnTheCaller) {
  SearchShape shape;
  shape.queries = 1;
  shape.rows = 1000;
  shape.cols = 16;
  shape.sink_bytes = TopKSink::bytes_per_query(1);
  shape.base_row_bytes = 64;
  shape.threads = 8;
  EXPECT_EQ(make_plan(shape, Tuning()).threads, 1);
}

class KnnPlanLimits : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(KnnPlanLimits, FitsEveryLimitItAccepts) {
  SearchShape shape;
  shape.queries = GetParam().first;
  shape.rows = 10'000'000;
  shape.cols = 128;
  shape.sink_bytes = TopKSink::bytes_per_query(GetParam().second);
  shape.result_bytes = shape.queries * GetParam().second * 20;
  shape.base_row_bytes = shape.base_buffer_bytes = shape.query_buffer_bytes = 512;
  shape.threads = 4;
  int accepted = 0;
  for (std::int64_t limit = 1 << 20; limit < std::int64_t{1} << 32; limit += limit / 50) {
    shape.memory_limit = limit;
    try {
      const Plan plan = make_plan(shape, Tuning());
      EXPECT_LE(plan.result_bytes + plan.working_bytes, limit);
      ++accepted;
    } catch (const std::exception&) {
      EXPECT_EQ(accepted, 0) << limit << " was refused although less was accepted";
    }
  }
  EXPECT_GT(accepted, 10);
}

// The second keeps so much a query that it competes with the chunk of the base.
INSTANTIATE_TEST_SUITE_P(QueriesAndK, KnnPlanLimits,
                         testing::Values(std::pair(5000, 100), std::pair(10, 1'000'000)));

TEST(KnnPlan, ManyQueriesOfAFewRowsShareABlock) {
  SearchShape shape;
  shape.queries = 100'000;
  shape.rows = 100;
  shape.cols = 8;
  shape.sink_bytes = TopKSink::bytes_per_query(1);
  shape.base_row_bytes = 8;
  EXPECT_GE(make_plan(shape, Tuning()).query_tile, 100);
}

TEST(KnnPlan, SaysWhatTheFilterTakesOfARow) {
  constexpr std::int64_t kCols = 128;
  const auto plan_of = [&](DType dtype, std::int64_t count) {
    const Matrix vectors(dtype, count, kCols);
    const MatrixRows rows(vectors);
    const MatrixRows queries(vectors.view().slice(0, count / 20));  // too few for bf16
    return plan_knn(queries, rows, {});
  };
  for (const DType dtype : {DType::u8, DType::f32}) {
    const Plan plan = plan_of(dtype, 2000);
    EXPECT_GE(plan.filter_row_bytes, kCols) << to_string(plan);
    EXPECT_LE(plan.filter_row_bytes, kCols + 16) << to_string(plan);
    EXPECT_GE(plan.working_bytes, 2000 * plan.filter_row_bytes) << to_string(plan);
  }
  EXPECT_EQ(plan_of(DType::u8, 40).filter_row_bytes, 0);
}

#ifndef NEARFIELD_SANITIZED  // whose allocator ends the process instead of refusing
TEST(KnnErrors, MemoryTheSystemRefusesIsAnError) {
  const Matrix base(DType::u8, 1000, 1);
  test::expect_error([&] { knn(base, base, {.k = std::int64_t{1} << 40}); },
                     ErrorCode::memory_limit, {"bytes of results", "fewer results"});
}
#endif

TEST(KnnErrors, TheEnvironmentsIsaIsReadOnlyWhereTheContextNamesNone) {
  const Matrix base(DType::u8, 3, 1);
  setenv("NEARFIELD_ISA", "nonsense", 1);
  EXPECT_NO_THROW(knn(base, base, {}, {.isa = Isa::scalar}));
  test::expect_error([&] { knn(base, base); }, ErrorCode::invalid_argument, {"nonsense", "avx2"});
  setenv("NEARFIELD_ISA", "scalar", 1);
  EXPECT_EQ(knn(base, base).stats.plan.isa, Isa::scalar);
  unsetenv("NEARFIELD_ISA");
}

}  // namespace
}  // namespace nearfield
