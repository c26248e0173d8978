#include "device/tuning_table.hpp"

#include <array>

#include <gtest/gtest.h>

namespace nearfield {
namespace {

using Names = std::vector<std::string_view>;

TEST(TuningTable, TakesTheLeastMedian) {
  const std::vector<TuningPoint> points{
      {{1, 1, 1, 1}, {{"lucky", {0.1, 5, 5}}, {"steady", {2, 2, 2}}, {"unlucky", {1, 1, 90}}}}};
  EXPECT_EQ(fastest(points, {1, 1, 1, 1}, Names{"lucky", "steady", "unlucky"}), 2U);
  EXPECT_EQ(fastest(points, {1, 1, 1, 1}, Names{"lucky", "steady"}), 1U);
}

TEST(TuningTable, OfTwoRoundsTakesTheMean) {
  EXPECT_EQ((Timing{"a", {3, 1}}.median()), 2);
  EXPECT_EQ((Timing{"a", {7}}.median()), 7);
}

TEST(TuningTable, TakesTheNearestPointByLogarithms) {
  const std::vector<TuningPoint> points{
      {{1, 1000, 1, 10}, {{"a", {1}}, {"b", {2}}}},
      {{1, 100'000, 1, 10}, {{"a", {2}}, {"b", {1}}}},
  };
  const Names both{"a", "b"};
  EXPECT_EQ(fastest(points, {1, 9'000, 1, 10}, both), 0U);
  EXPECT_EQ(fastest(points, {1, 11'000, 1, 10}, both), 1U);
  // None counts as one.
  EXPECT_EQ(fastest(points, {0, 1000, 0, 0}, both), 0U);
}

TEST(TuningTable, IsTheSameWhereTwoAreEqual) {
  const std::vector<TuningPoint> points{
      {{1, 64, 1, 1}, {{"a", {1}}, {"b", {1}}}},
      {{1, 256, 1, 1}, {{"a", {1}}, {"b", {0.5}}}},
  };
  EXPECT_EQ(fastest(points, {1, 128, 1, 1}, Names{"a", "b"}), 0U);
  EXPECT_EQ(fastest(points, {1, 128, 1, 1}, Names{"b", "a"}), 0U);
}

// A candidate that was not measured could be the fastest.
TEST(TuningTable, LeavesOutPointsThatLackACandidate) {
  const std::vector<TuningPoint> points{
      {{1, 1000, 1, 1}, {{"a", {1}}}},
      {{1, 1'000'000, 1, 1}, {{"a", {2}}, {"b", {1}}}},
  };
  EXPECT_EQ(fastest(points, {1, 1000, 1, 1}, Names{"a", "b"}), 1U);
  EXPECT_EQ(fastest(points, {1, 1000, 1, 1}, Names{"a"}), 0U);
  EXPECT_EQ(fastest(points, {1, 1000, 1, 1}, Names{"a", "c"}), std::nullopt);
  EXPECT_EQ(fastest({}, {1, 1000, 1, 1}, Names{"a"}), std::nullopt);
}

}  // namespace
}  // namespace nearfield
