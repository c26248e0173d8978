// Closest pairs: what only they can get wrong. Metrics, types and ISAs are swept in
// operations_quick_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield::contract {
namespace {

std::vector<PairsOptions> every_option() {
  std::vector<PairsOptions> all;
  for (const double radius : {-1.0, 0.0, 2.0, 3.0, 1e9}) {
    all.push_back({.radius = radius, .metric = Metric::euclidean});
    all.push_back({.radius = radius, .count = 100, .metric = Metric::euclidean});
  }
  // Roots that round up: whole distances of lp(5).
  all.push_back({.radius = 2, .count = 50, .metric = lp(5)});
  all.push_back({.radius = 2, .metric = lp(5)});
  for (const std::int64_t count : {0, 1, 17, 1000, 1'000'000}) {
    all.push_back({.count = count, .metric = Metric::euclidean});
  }
  return all;
}

TEST(Pairs, ThreadsPiecesAndLimitsDoNotMatter) {
  // Many equal distances, and rows whose pairs all are equal.
  const Matrix rows = data::make_matrix({data::Kind::small_integers, DType::u8, 120, 5, 1});
  const Matrix others = data::make_matrix({data::Kind::small_integers, DType::u8, 40, 5, 2});
  const MatrixRows held(rows), held_others(others);
  const data::PiecewiseRows pieces(rows), pieces_others(others);
  for (const PairsOptions& options : every_option()) {
    const oracle::PairAnswer one = oracle::pairs(rows, rows, true, options);
    const oracle::PairAnswer two = oracle::pairs(others, rows, false, options);
    for (const int threads : {1, 2, 7}) {
      const Context context{.threads = threads};
      EXPECT_EQ(mismatch(pairs(held, options, context), one, "pairs of one set"), "");
      EXPECT_EQ(mismatch(pairs(pieces, options, context), one, "pairs of one set"), "");
      EXPECT_EQ(mismatch(pairs(held_others, held, options, context), two, "pairs of two sets"), "");
      EXPECT_EQ(mismatch(pairs(pieces_others, pieces, options, context), two, "pairs of two sets"),
                "");
    }
    // Room for what is found, and for blocks and pieces that are far smaller than the rows.
    const Plan plan = plan_pairs(pieces, options, {.threads = 2});
    const Context tight{.threads = 2, .memory_limit = plan.result_bytes + (6 << 20)};
    EXPECT_EQ(mismatch(pairs(pieces, options, tight), one, "pairs of one set"), "");
  }
}

TEST(Pairs, NonFiniteRowsAreInNoPair) {
  const Matrix rows = data::make_matrix({data::Kind::with_non_finite, DType::f32, 60, 4, 3});
  const PairsOptions all{.radius = INFINITY, .metric = Metric::l1};
  EXPECT_EQ(mismatch(pairs(rows, all), oracle::pairs(rows, rows, true, all), "pairs of one set"),
            "");
}

TEST(Pairs, EachPairIsLookedAtOnce) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 501, 4, 3});
  std::int64_t done = 0;
  Context context{.threads = 2};
  context.progress = [&](const Progress& progress) { done = progress.done; };
  const Pairs found = pairs(rows, {.count = 10}, context);
  EXPECT_EQ(found.stats.plan.pairs, 501 * 500 / 2);
  EXPECT_EQ(found.stats.pairs_considered, 501 * 500 / 2);
  EXPECT_EQ(done, 501 * 500 / 2);
  EXPECT_NE(found.stats.plan.filter.find("each pair once"), std::string::npos);
}

// So many rows that bytes of pairs do not fit 63 bits.
class ManyRows final : public RowSource {
 public:
  DType dtype() const override { return DType::u8; }
  std::int64_t rows() const override { return 3'000'000'000; }
  std::int64_t cols() const override { return 1; }
  void read(std::int64_t, std::int64_t, Matrix&, std::int64_t) const override { FAIL(); }
};

TEST(Pairs, BytesThatOverflowAreAnError) {
  const ManyRows rows;
  for (const std::int64_t count : {400'000'000'000'000'000, 7'000'000'000'000'000'000}) {
    EXPECT_THROW(plan_pairs(rows, {.count = count}, {.memory_limit = 1 << 30}), Error) << count;
    EXPECT_THROW(plan_pairs(rows, rows, {.count = count}), Error) << count;
  }
}

TEST(Pairs, EmptyInputsAreValid) {
  const Matrix none(DType::f32, 0, 4);
  const Matrix one(DType::f32, 1, 4);
  EXPECT_TRUE(pairs(none, {.count = 3}).first.empty());
  EXPECT_TRUE(pairs(one, {.radius = 1e9}).first.empty());
  EXPECT_TRUE(pairs(none, one, {.count = 3}).first.empty());
  EXPECT_EQ(pairs(one, one, {.count = 3}).first.size(), 1u);
}

TEST(Pairs, ErrorsHoldTheNumbers) {
  const Matrix rows(DType::f32, 2000, 4);
  test::expect_error([&] { pairs(rows, {}); }, ErrorCode::invalid_argument, {"radius", "count"});
  test::expect_error([&] { pairs(rows, {.count = -3}); }, ErrorCode::invalid_argument, {"-3"});
  test::expect_error([&] { pairs(rows, {.radius = NAN}); }, ErrorCode::invalid_argument, {"NaN"});
  test::expect_error([&] { pairs(rows, {.radius = 0.0}, {.memory_limit = 8 << 20}); },
                     ErrorCode::memory_limit, {"found", "room for"});
}

}  // namespace
}  // namespace nearfield::contract
