// Going on past k: KnnOptions::after and KnnCursor.
#include <gtest/gtest.h>

#include <vector>

#include <nearfield/nearfield.hpp>

#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield::contract {
namespace {

using Steps = std::vector<std::int64_t>;

// Each step is the next columns of one large answer.
void expect_steps(const RowSource& queries, const RowSource& base, const KnnOptions& options,
                  const oracle::Answer& all, const Steps& steps, const Context& context) {
  KnnCursor cursor(queries, base, options);
  std::int64_t done = 0;
  for (const std::int64_t k : steps) {
    const Neighbors got = cursor.next(k, context);
    const oracle::Answer want = oracle::head_of(oracle::tail_of(all, done), k);
    EXPECT_EQ(oracle::difference(got, want), "") << "step of " << k << " after " << done;
    EXPECT_TRUE(got.exact);
    done += k;
  }
}

TEST(Cursor, StepsAreThePartsOfOneAnswer) {
  // Ties everywhere, rows that are never returned, and fewer rows than are asked for.
  for (const data::Kind kind : {data::Kind::small_integers, data::Kind::with_non_finite}) {
    const Matrix base = data::make_matrix({kind, DType::f32, 200, 6, 1});
    const Matrix queries = data::make_matrix({kind, DType::f32, 9, 6, 2});
    const data::PiecewiseRows pieces(base);
    const MatrixRows held(base), asked(queries);
    for (const MetricSpec metric : {MetricSpec(Metric::euclidean), MetricSpec(Metric::cosine)}) {
      const oracle::Answer all = oracle::knn(queries, base, nearest(600, metric));
      for (const Steps& steps : {Steps{10, 90, 0, 500}, Steps{1, 1, 1, 1, 1, 1, 1, 1}, Steps{0, 7},
                                 Steps{199, 1, 1, 5}, Steps{600}}) {
        expect_steps(asked, held, nearest(1, metric), all, steps, {});
        expect_steps(asked, pieces, nearest(1, metric), all, steps, {.memory_limit = 1 << 20});
      }
    }
  }
}

TEST(Cursor, SmallStepsNeedFewPasses) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 300, 4, 1});
  const MatrixRows rows(base);
  KnnCursor cursor(rows, rows);
  int passes = 0;
  for (int step = 0; step < 64; ++step) {
    passes += cursor.next(1).stats.pairs_considered > 0 ? 1 : 0;
  }
  EXPECT_LE(passes, 7);  // each pass doubles what is there
}

TEST(Cursor, AFailedStepCanBeAskedForAgain) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 300, 4, 1});
  const MatrixRows rows(base);
  KnnCursor cursor(rows, rows);
  cursor.next(5);
  Context stopped;
  stopped.cancel.cancel();
  test::expect_error([&] { cursor.next(100, stopped); }, ErrorCode::cancelled, {"cancelled"});
  const Neighbors got = cursor.next(100);
  const oracle::Answer all = oracle::knn(base, base, nearest(105));
  EXPECT_EQ(oracle::difference(got, oracle::tail_of(all, 5)), "");
}

TEST(After, ErrorsHoldTheNumbers) {
  const Matrix base(DType::f32, 7, 4);
  const std::vector<Neighbor> three(3, Neighbor{0, 0});
  KnnOptions options = nearest(2);
  options.after = three;
  test::expect_error([&] { knn(base, base, options); }, ErrorCode::invalid_argument, {"7", "3"});
}

}  // namespace
}  // namespace nearfield::contract
