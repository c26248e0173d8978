#include "scan/nearest_sink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace nearfield {
namespace {

TwoNearest two_of(std::initializer_list<Neighbor> met) {
  TwoNearest kept;
  for (const Neighbor& neighbor : met) kept.offer(neighbor);
  return kept;
}

void expect_two(const TwoNearest& kept, const Neighbor& nearest, double second) {
  EXPECT_EQ(kept.nearest, nearest);
  EXPECT_EQ(kept.second, second);
}

// In every order, and shared out to two threads in every way.
TEST(TwoNearest, AreTheSameWhoeverMeetsThem) {
  std::array<Neighbor, 5> met = {{{1, 3}, {1, 7}, {2, 0}, {2, 9}, {kInfinity, 1}}};
  do {
    for (std::size_t split = 0; split <= met.size(); ++split) {
      TwoNearest left;
      TwoNearest right;
      for (std::size_t i = 0; i < met.size(); ++i) (i < split ? left : right).offer(met.at(i));
      left.merge(right);
      expect_two(left, {1, 3}, 1);
    }
  } while (std::next_permutation(met.begin(), met.end()));
}

TEST(TwoNearest, OfFewerThanTwoHasNoSecond) {
  expect_two(two_of({}), kNoNeighbor, kInfinity);
  expect_two(two_of({{3, 5}}), {3, 5}, kInfinity);
  TwoNearest kept = two_of({{3, 5}});
  kept.merge(two_of({}));
  expect_two(kept, {3, 5}, kInfinity);
  kept.merge(two_of({{2, 8}}));
  expect_two(kept, {2, 8}, 3);
}

}  // namespace
}  // namespace nearfield
