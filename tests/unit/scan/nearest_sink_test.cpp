#include "scan/nearest_sink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

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

// Of a row that two threads have copies of: whoever is first, and whatever each has met.
TEST(NearestKeys, MergeToTheSameWhoeverMeetsThem) {
  std::array<std::pair<std::int32_t, std::int32_t>, 5> met = {
      {{1, 3}, {1, 7}, {2, 0}, {2, 9}, {5, 1}}};
  do {
    for (std::size_t before = 0; before <= met.size(); ++before) {
      for (std::size_t split = before; split <= met.size(); ++split) {
        NearestKeys shared(3);
        NearestKeys left(1);
        NearestKeys right(1);
        for (std::size_t i = 0; i < before; ++i) {
          shared.places().offer(2, met.at(i).first, met.at(i).second);
        }
        shared.copy(2, 1, left);
        shared.copy(2, 1, right);
        for (std::size_t i = before; i < met.size(); ++i) {
          (i < split ? left : right).places().offer(0, met.at(i).first, met.at(i).second);
        }
        shared.merge(2, 1, left);
        shared.merge(2, 1, right);
        EXPECT_EQ(shared.first(2), 1);
        EXPECT_EQ(shared.id(2), 3);
        EXPECT_EQ(shared.second(2), 1);
        EXPECT_EQ(shared.first(1), NearestKeys::kNone);
      }
    }
  } while (std::next_permutation(met.begin(), met.end()));
}

TEST(NearestKeys, ComeToTheSinkOfBothSides) {
  NearestKeys of_queries(2);
  NearestKeys of_rows(1);
  of_queries.places().offer(1, 4, 20);
  of_queries.places().offer(1, 3, 20);
  of_rows.places().offer(0, 7, 11);
  BothSidesSink<TwoNearest> sink({10, 12}, {20, 21});
  sink.take(of_queries, of_rows);
  expect_two(sink.of_queries().of(10), kNoNeighbor, kInfinity);
  expect_two(sink.of_queries().of(11), {3, 20}, 4);
  expect_two(sink.of_rows().of(20), {7, 11}, kInfinity);
}

}  // namespace
}  // namespace nearfield
