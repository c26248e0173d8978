#include "filter/rounded/bf16_gain.hpp"

#include <gtest/gtest.h>

#include <nearfield/error.hpp>

#include "tests/unit/log_normal.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kRows = 256;  // all of them are in the sample
constexpr std::int64_t kCols = 64;

double gain(const Piece& queries, const Piece& rows, const Context& context = {}) {
  BaseRounding rounding =
      *choose_rounding(Metric::sqeuclidean, DType::f32, DType::f32, kCols, default_isa());
  const Context any;
  fit_rounding(rounding, rows.view, Monitor(any, 1));
  return bf16_gain(rounding, queries, rows, {10, 100'000}, Monitor(context, 1));
}

TEST(Bf16Gain, IsSaidOfEnoughRowsOnly) {
  const Matrix queries = log_normal(40, kCols, 1);
  const Matrix rows = log_normal(kRows, kCols, 2);
  EXPECT_EQ(gain({queries, 0}, {rows.view().slice(0, 31), 0}), 0);
  EXPECT_GT(gain({queries, 0}, {rows.view().slice(0, 32), 0}), 0);
}

// A row that found itself at no distance would make the threshold look lower than it is.
TEST(Bf16Gain, DoesNotTakeAQueryForItsOwnNeighbour) {
  const Matrix rows = log_normal(kRows, kCols, 2);
  const Matrix others = log_normal(kRows, kCols, 1);
  const double among_others = gain({others, 0}, {rows, 0});
  const double within_one_set = gain({rows, 0}, {rows, 0});
  const double with_copies = gain({rows, 1'000'000}, {rows, 0});
  EXPECT_NEAR(within_one_set, among_others, among_others / 4);
  EXPECT_LT(with_copies, within_one_set);
}

TEST(Bf16Gain, StopsWhenCancelled) {
  const Matrix rows = log_normal(kRows, kCols, 2);
  Context cancelled;
  cancelled.cancel.cancel();
  EXPECT_THROW(gain({rows, 0}, {rows, 0}, cancelled), Error);
}

}  // namespace
}  // namespace nearfield
