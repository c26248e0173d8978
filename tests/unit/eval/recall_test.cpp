#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/eval.hpp>
#include <nearfield/knn.hpp>

#include "eval/estimate.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;

IdTable table(const std::vector<std::vector<std::int64_t>>& rows) {
  IdTable ids{std::ssize(rows), std::ssize(rows.front()), {}};
  for (const auto& row : rows) ids.ids.insert(ids.ids.end(), row.begin(), row.end());
  return ids;
}

Recall recall_with(const IdTable& found, const IdTable& truth, const std::vector<float>& distances,
                   const std::vector<std::int64_t>& at) {
  return recall(found, {truth, MatrixView(distances.data(), truth.rows, truth.cols)}, at);
}

// Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
TEST(Wilson, PublishedExamples) {
  const auto check = [](double found, double trials, double low, double high) {
    const Estimate interval = wilson(found / trials, trials);
    EXPECT_NEAR(interval.low, low, 5e-5) << found << '/' << trials;
    EXPECT_NEAR(interval.high, high, 5e-5) << found << '/' << trials;
  };
  check(81, 263, 0.2553, 0.3662);
  check(15, 148, 0.0624, 0.1605);
  check(0, 20, 0.0000, 0.1611);
  check(1, 29, 0.0061, 0.1718);
}

// `first` shares of one kind, then `rest` of another.
std::vector<Share> shares(std::size_t first, Share one, std::size_t rest, Share other) {
  std::vector<Share> all(first, one);
  all.insert(all.end(), rest, other);
  return all;
}

TEST(Estimate, OfZerosAndOnesIsWilson) {
  const Estimate found = estimate(shares(81, {1, 1}, 182, {0, 1}));
  const Estimate expected = wilson(81.0 / 263, 263);
  EXPECT_DOUBLE_EQ(found.mean, expected.mean);
  EXPECT_NEAR(found.low, expected.low, 1e-12);
  EXPECT_NEAR(found.high, expected.high, 1e-12);
}

// Shares that scatter less than coins do say more.
TEST(Estimate, ScatterDecides) {
  const auto width = [](const std::vector<Share>& all) {
    return estimate(all).high - estimate(all).low;
  };
  const double coins = width(shares(50, {1, 1}, 50, {0, 1}));
  EXPECT_LT(width(shares(50, {4, 10}, 50, {6, 10})), coins / 3);
  EXPECT_GT(width(shares(100, {5, 10}, 0, {})), 0);
}

TEST(Estimate, AllRight) {
  const Estimate all = estimate(shares(100, {10, 10}, 0, {}));
  EXPECT_EQ(all.mean, 1);
  EXPECT_EQ(all.high, 1);
  EXPECT_NEAR(all.low, wilson(1, 100).low, 1e-12);
}

// 0.9 and 0.7 summed up as float64 would miss it.
TEST(Estimate, MeanIsTheNearestFloat64) {
  EXPECT_EQ(estimate(shares(700, {9, 10}, 300, {7, 10})).mean, 0.84);
  EXPECT_EQ(estimate(shares(665, {10, 10}, 335, {9, 10})).mean, 0.9665);
}

TEST(Recall, CountsAnyOrder) {
  const IdTable truth = table({{1, 2, 3, 4}, {5, 6, 7, 8}});
  const IdTable found = table({{2, 1, 9, 3}, {0, 5, 6, 7}});
  const Recall result = recall(found, {truth}, {1, 2, 4});
  EXPECT_EQ(result.queries, 2);
  ASSERT_EQ(result.at.size(), 3U);
  EXPECT_EQ(result.at[0].recall.mean, 0);
  EXPECT_EQ(result.at[1].recall.mean, (2.0 / 2 + 1.0 / 2) / 2);
  EXPECT_EQ(result.at[2].recall.mean, (3.0 / 4 + 3.0 / 4) / 2);
  EXPECT_EQ(result.at[0].nearest.mean, 0);
  EXPECT_EQ(result.at[1].nearest.mean, 1);
  EXPECT_EQ(result.at[1].k, 2);
}

TEST(Recall, PaddingIsLeftOutAndRepeatsCountOnce) {
  const IdTable truth = table({{1, 2, -1, -1}, {1, 2, 3, 4}, {-1, -1, -1, -1}});
  const IdTable found = table({{2, 9, 1, -1}, {1, 1, 1, 2}, {7, 8, 9, 1}});
  const Recall result = recall(found, {truth}, {4});
  EXPECT_EQ(result.queries, 2);
  EXPECT_EQ(result.empty_queries, 1);
  EXPECT_EQ(result.at[0].recall.mean, (2.0 / 2 + 2.0 / 4) / 2);
  EXPECT_EQ(result.at[0].recall.open, 0);  // nothing else was found than what is listed or ended
}

TEST(Recall, WithoutDistancesItIsALowerBound) {
  const IdTable truth = table({{1, 2, 3}, {1, 2, 3}});
  const IdTable found = table({{1, 3, 9}, {1, 2, 3}});
  const Recall result = recall(found, {truth}, {2, 3});
  EXPECT_EQ(result.at[0].recall.mean, (0.5 + 1) / 2);
  EXPECT_EQ(result.at[0].recall.open, 1);   // is 3 as near as 2?
  EXPECT_EQ(result.at[0].nearest.open, 0);  // both found 1
  EXPECT_EQ(result.at[1].recall.open, 1);   // is 9 as near as 3?
}

TEST(Recall, TiesBeyondK) {
  const IdTable truth = table({{1, 2, 3, 4}});
  const std::vector<float> distances{0, 5, 5, 6};
  const auto at_2 = [&](std::vector<std::int64_t> row) {
    return recall_with(table({row}), truth, distances, {2}).at[0];
  };
  EXPECT_EQ(at_2({1, 3}).recall.mean, 1);    // as near as 2
  EXPECT_EQ(at_2({1, 4}).recall.mean, 0.5);  // further
  EXPECT_EQ(at_2({3, 2}).recall.mean, 1);
  EXPECT_EQ(at_2({3, 2}).nearest.mean, 0);
  EXPECT_EQ(at_2({1, 9}).recall.mean, 0.5);  // the tie ends in the list, 9 is not in it
  EXPECT_EQ(at_2({1, 9}).recall.open, 0);
}

TEST(Recall, TieAtTheEndOfTheTruth) {
  const IdTable truth = table({{1, 2, 3}});
  const Recall open = recall_with(table({{1, 9, 8}}), truth, {0, 5, 5}, {2, 3});
  EXPECT_EQ(open.at[0].recall.mean, 0.5);
  EXPECT_EQ(open.at[0].recall.open, 1);
  EXPECT_EQ(open.at[1].recall.open, 1);
  EXPECT_EQ(open.at[0].nearest.open, 0);
  // Padding says that there is no fourth.
  const Recall closed = recall_with(table({{1, 9, 8, 7}}), table({{1, 2, 3, -1}}),
                                    {0, 5, 5, std::numeric_limits<float>::infinity()}, {2, 4});
  EXPECT_EQ(closed.at[0].recall.open, 0);
  EXPECT_EQ(closed.at[1].recall.open, 0);
  EXPECT_DOUBLE_EQ(closed.at[1].recall.mean, 1.0 / 3);
}

TEST(Recall, TiesForTheNearest) {
  const Recall result = recall_with(table({{2, 9}}), table({{1, 2, 3}}), {4, 4, 5}, {1, 2});
  EXPECT_EQ(result.at[0].recall.mean, 1);
  EXPECT_EQ(result.at[1].nearest.mean, 1);
}

class RecallOfRows : public testing::Test {
 protected:
  // On a line: rows 1 and 2 are equally far from 0, and so are 3, 4 and 5. Row 6 is no number.
  const std::vector<float> points{0, 1, -1, 2, -2, 2, NAN, 9};
  const std::vector<float> zero{0};
  const MatrixRows base{MatrixView(points.data(), 8, 1)};
  const MatrixRows query{MatrixView(zero.data(), 1, 1)};

  RecallAt at(std::int64_t k, const std::vector<std::int64_t>& found,
              const std::vector<std::int64_t>& truth) const {
    return recall(table({found}), table({truth}), {k}, query, base, Metric::sqeuclidean).at[0];
  }
};

TEST_F(RecallOfRows, EveryTieIsSettled) {
  const std::vector<std::int64_t> truth{0, 1, 2, 3};
  EXPECT_EQ(at(4, {0, 1, 2, 5}, truth).recall.mean, 1);
  EXPECT_EQ(at(4, {5, 4, 3, 0}, truth).recall.mean, 1);  // 3, 4 and 5 are all as near as the 4th
  EXPECT_EQ(at(2, {0, 2, -1, -1}, truth).recall.mean, 1);
  EXPECT_EQ(at(4, {0, 1, 2, 7}, truth).recall.mean, 0.75);
  EXPECT_EQ(at(4, {0, 1, 2, 6}, truth).recall.mean, 0.75);  // a NaN is as near as nothing
  for (const auto& found : std::vector<std::vector<std::int64_t>>{{0, 1, 2, 7}, {4, 4, 4, 4}}) {
    EXPECT_EQ(at(4, found, truth).recall.open, 0);
    EXPECT_EQ(at(4, found, truth).wrong_truth_queries, 0);
  }
}

TEST_F(RecallOfRows, WrongTruthIsNoticed) {
  const RecallAt result = at(2, {0, 1}, {0, 3});
  EXPECT_EQ(result.recall.mean, 1);
  EXPECT_EQ(result.wrong_truth_queries, 1);
}

TEST_F(RecallOfRows, ExactSearchHasRecallOne) {
  const Neighbors found = knn(query, base, {.k = 4});
  const IdTable ids{1, 4, found.ids};
  EXPECT_EQ(recall(ids, ids, {1, 4}, query, base, Metric::l1).at[1].recall.mean, 1);
}

TEST_F(RecallOfRows, IdsAreRowsOfTheBase) {
  expect_error([&] { at(1, {8}, {0}); }, ErrorCode::invalid_argument,
               {"query 0", "found id 8", "which has 8"});
  expect_error([&] { at(1, {0}, {99}); }, ErrorCode::invalid_argument, {"true id 99"});
}

TEST(Recall, WrongInput) {
  const IdTable short_table{2, 3, {1, 2, 3}};
  const IdTable negative = table({{1, -5, 3}, {1, 2, 3}});
  const IdTable good = table({{1, 2, 3}, {1, 2, 3}});
  expect_error([&] { recall(short_table, {good}, {1}); }, ErrorCode::invalid_argument,
               {"2 x 3 found ids are 6, got 3"});
  expect_error([&] { recall(good, {negative}, {1}); }, ErrorCode::invalid_argument,
               {"a true id is -5"});
  const IdTable two = table({{1, 2}, {3, 4}});
  expect_error(
      [&] {
        recall(two, {table({{1, 2}})}, {1});
      },
      ErrorCode::invalid_argument, {"2 queries", "of 1"});
  expect_error([&] { recall(two, {two}, {3}); }, ErrorCode::invalid_argument,
               {"recall@3", "2 and 2"});
  expect_error([&] { recall(two, {two}, {0}); }, ErrorCode::invalid_argument, {"recall@0"});
  expect_error(
      [&] {
        recall(two, {table({{1, 1}, {3, 4}})}, {1});
      },
      ErrorCode::invalid_argument, {"query 0", "id 1 twice"});
  expect_error(
      [&] {
        recall(two, {table({{-1, -1}, {-1, -1}})}, {1});
      },
      ErrorCode::invalid_argument, {"none of the 2"});
  const std::vector<float> few(3);
  expect_error(
      [&] {
        recall(two, {two, MatrixView(few.data(), 3, 1)}, {1});
      },
      ErrorCode::invalid_argument, {"2 x 2 ids", "3 x 1 of f32"});
}

}  // namespace
}  // namespace nearfield
