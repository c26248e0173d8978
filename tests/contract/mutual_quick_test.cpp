// Rows that are each other's nearest: what only they can get wrong. Metrics, types and ISAs are
// swept in operations_quick_test.cpp.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include <nearfield/nearfield.hpp>

#include "filter/rounded/bf16_tile_kernel.hpp"
#include "search/plan.hpp"
#include "tests/contract/isa_sweep.hpp"
#include "tests/force_tiles.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield::contract {
namespace {

// Tiles for few rows, and tasks for few pairs.
class WithSmallTiles {
 public:
  explicit WithSmallTiles(std::int64_t tile, TileValues values = TileValues::int8) {
    force_tiles_of(values);
    default_tuning().inline_below_nanoseconds = 0;
    default_tuning().tiles.least_rows = 0;
    default_tuning().tiles.queries = tile;
    default_tuning().tiles.rows = tile == 96 ? 64 : tile;
  }
  ~WithSmallTiles() { default_tuning() = Tuning(); }
  WithSmallTiles(const WithSmallTiles&) = delete;
  WithSmallTiles& operator=(const WithSmallTiles&) = delete;
};

struct TwoSets {
  Matrix first;
  Matrix second;
};

TwoSets two_sets(data::Kind kind, DType dtype) {
  return {data::make_matrix({kind, dtype, 100, 12, 1}),
          data::make_matrix({kind, dtype, 130, 12, 2})};
}

// Keys of bytes are kept as 32-bit integers up to 8,256 columns: 255^2 of each, below 2^29. Rows of
// the smallest and the largest bytes, each many times, are as far from each other as can be.
TEST(Mutual, TheLargestKeysOfBytesDoNotOverflow) {
  for (const std::int64_t cols : {8'256, 8'257}) {
    for (const DType dtype : {DType::u8, DType::i8}) {
      Matrix first(dtype, 35, cols);
      Matrix second(dtype, 70, cols);
      for (Matrix* const rows : {&first, &second}) {
        for (std::int64_t row = 0; row < rows->rows(); ++row) {
          const bool largest = (row + rows->rows()) % 3 == 0;
          const int value = dtype == DType::u8 ? (largest ? 255 : 0) : (largest ? 127 : -128);
          std::memset(rows->row(row), value, static_cast<std::size_t>(cols));
          rows->row(row)[row] = static_cast<std::byte>(row);
        }
      }
      for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
        const oracle::PairAnswer want = oracle::mutual(first, second, false, metric);
        for (const int threads : {1, 2}) {
          const WithSmallTiles tiles(32);
          const Pairs found = mutual(first, second, {.metric = metric}, {.threads = threads});
          EXPECT_EQ(mismatch(found, want, "mutual of the largest keys"), "")
              << cols << " " << to_string(dtype) << " " << to_string(MetricSpec(metric));
        }
      }
    }
  }
}

TEST(Mutual, OnePassServesBothSides) {
  for (const DType dtype : {DType::u8, DType::i8, DType::f32}) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
      for (const data::Kind kind :
           {data::Kind::small_integers, data::Kind::gaussian, data::Kind::with_non_finite,
            data::Kind::wild_norms, data::Kind::huge, data::Kind::all_equal}) {
        const TwoSets sets = two_sets(kind, dtype);
        const oracle::PairAnswer want = oracle::mutual(sets.first, sets.second, false, metric);
        for (const Isa isa : swept_isas()) {
          for (const std::int64_t tile : {32, 96}) {
            for (const TileValues values : {TileValues::int8, TileValues::bf16}) {
              const WithSmallTiles tiles(tile, values);
              const Context context{.threads = tile == 96 ? 3 : 1, .isa = isa};
              const Pairs found = mutual(sets.first, sets.second, {.metric = metric}, context);
              EXPECT_EQ(mismatch(found, want, "mutual of two sets"), "")
                  << to_string(dtype) << ' ' << to_string(metric) << ' ' << data::to_string(kind)
                  << ' ' << to_string(isa) << ' ' << tile << ' ' << found.stats.plan.filter;
              EXPECT_TRUE(found.exact);
              EXPECT_EQ(found.stats.pairs_considered, 2 * 100 * 130);
              const bool rounds = dtype == DType::f32 || metric == Metric::cosine;
              EXPECT_EQ(found.stats.plan.filter.starts_with("bf16 tiles"),
                        rounds && values == TileValues::bf16 && bf16_tile_kernel(isa) != nullptr);
            }
          }
        }
      }
    }
  }
}

class MutualOf : public testing::TestWithParam<Metric> {};

// By tiles in one pass; by tiles in two; without.
INSTANTIATE_TEST_SUITE_P(Metrics, MutualOf,
                         testing::Values(Metric::sqeuclidean, Metric::inner_product, Metric::l1));

TEST_P(MutualOf, ThreadsPiecesAndLimitsDoNotMatter) {
  const WithSmallTiles tiles(32);
  const TwoSets sets = two_sets(data::Kind::small_integers, DType::f32);
  const oracle::PairAnswer one = oracle::mutual(sets.first, sets.first, true, GetParam());
  const oracle::PairAnswer two = oracle::mutual(sets.first, sets.second, false, GetParam());
  const MutualOptions options{.metric = GetParam()};
  const data::PiecewiseRows first(sets.first), second(sets.second);
  for (const int threads : {1, 2, 7}) {
    const Context context{.threads = threads};
    EXPECT_EQ(mismatch(mutual(sets.first, options, context), one, "mutual of one set"), "");
    EXPECT_EQ(mismatch(mutual(first, second, options, context), two, "mutual of two sets"), "");
    const Plan plan = plan_mutual(first, second, options, context);
    const Context tight{.threads = threads, .memory_limit = plan.result_bytes + plan.working_bytes};
    EXPECT_EQ(mismatch(mutual(first, second, options, tight), two, "mutual of two sets"), "");
    const Context batches{.threads = threads, .memory_limit = plan.result_bytes + (6 << 20)};
    EXPECT_EQ(mismatch(mutual(first, second, options, batches), two, "mutual of two sets"), "");
  }
}

TEST(Mutual, ARowIsInOnePairAndNeverItsOwn) {
  const Matrix rows = data::make_matrix({data::Kind::all_equal, DType::f32, 50, 4, 3});
  const Pairs one = mutual(rows);
  ASSERT_EQ(one.first.size(), 1U);  // all others have row 0 for their nearest
  EXPECT_EQ(one.first[0], 0);
  EXPECT_EQ(one.second[0], 1);
  const Pairs two = mutual(rows, rows);
  ASSERT_EQ(two.first.size(), 1U);
  EXPECT_EQ(two.second[0], 0);
}

TEST(Mutual, ProgressNeverFallsAndEndsAtTheTotal) {
  const TwoSets sets = two_sets(data::Kind::gaussian, DType::f32);
  for (const Metric metric : {Metric::sqeuclidean, Metric::l1}) {
    std::int64_t last = 0;
    Context context{.threads = 2};
    context.progress = [&](const Progress& progress) {
      EXPECT_GE(progress.done, last);
      EXPECT_EQ(progress.total, 2 * 100 * 130);
      last = progress.done;
    };
    mutual(sets.first, sets.second, {.metric = metric}, context);
    EXPECT_EQ(last, 2 * 100 * 130);
  }
}

// What both sides ask for, loosened by what the queries of a block lose at most: 1.7 times here.
TEST(Mutual, OnePassVerifiesFewPairs) {
  const Matrix first = data::make_matrix({data::Kind::gaussian, DType::f32, 3000, 16, 1});
  const Matrix second = data::make_matrix({data::Kind::gaussian, DType::f32, 3000, 16, 2});
  const Context context{.threads = 1};
  const KnnOptions nearest_one = nearest(1, Metric::sqeuclidean);
  const std::int64_t forward = knn(first, second, nearest_one, context).stats.pairs_verified;
  const std::int64_t backward = knn(second, first, nearest_one, context).stats.pairs_verified;
  const std::int64_t both = mutual(first, second, {}, context).stats.pairs_verified;
  EXPECT_LE(both, (forward + backward) * 2);
  EXPECT_LE(both, 3000 * 3000 / 16);
}

TEST(Mutual, StopsAtItsDeadline) {
  const Matrix first(DType::f32, 20'000, 64), second(DType::f32, 30'000, 64);
  for (const Metric metric : {Metric::sqeuclidean, Metric::l1}) {
    const Context context{.threads = 2, .deadline = std::chrono::steady_clock::now()};
    test::expect_error([&] { mutual(first, second, {.metric = metric}, context); },
                       ErrorCode::deadline_exceeded, {"deadline"});
  }
}

TEST(Mutual, EmptyInputsAreValid) {
  const Matrix none(DType::f32, 0, 4);
  const Matrix one(DType::f32, 1, 4);
  EXPECT_TRUE(mutual(none).first.empty());
  EXPECT_TRUE(mutual(one).first.empty());
  EXPECT_TRUE(mutual(none, one).first.empty());
  EXPECT_TRUE(mutual(one, none).first.empty());
  EXPECT_EQ(mutual(one, one).first.size(), 1U);
}

TEST(Mutual, ErrorsHoldTheNumbers) {
  const Matrix rows(DType::f32, 2000, 4), wide(DType::f32, 20, 5);
  test::expect_error([&] { mutual(rows, wide); }, ErrorCode::invalid_argument, {"4", "5"});
  test::expect_error([&] { mutual(rows, rows, {}, {.memory_limit = 1000}); },
                     ErrorCode::memory_limit, {"1000"});
  Matrix broken(DType::f32, 20, 4);
  reinterpret_cast<float*>(broken.row(7))[2] = NAN;
  const MutualOptions checked{.check_finite = true};
  test::expect_error([&] { mutual(rows, broken, checked); }, ErrorCode::not_finite, {"7"});
  test::expect_error([&] { mutual(broken, rows, checked); }, ErrorCode::not_finite, {"7"});
}

}  // namespace
}  // namespace nearfield::contract
