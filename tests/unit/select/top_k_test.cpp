#include "select/top_k.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.hpp"

namespace nearfield {
namespace {

std::vector<Neighbor> select(std::int64_t k, const std::vector<Neighbor>& stream) {
  TopK<Neighbor> top(k);
  for (const Neighbor& neighbor : stream) top.offer(neighbor);
  const auto best = top.finish();
  return {best.begin(), best.end()};
}

TEST(TopK, EqualsAFullSortInAnyOrderOfArrival) {
  for (const std::int64_t n : {0, 1, 5, 40, 1000, 20'000}) {
    std::vector<Neighbor> stream;
    Random random(static_cast<std::uint64_t>(n));
    // Few distinct keys: most decisions fall to the id.
    for (std::int64_t i = 0; i < n; ++i) {
      stream.push_back({static_cast<double>(random.below(7)), i});
    }
    std::vector<Neighbor> sorted = stream;
    std::sort(sorted.begin(), sorted.end());
    for (const std::int64_t k : {0, 1, 2, 15, 16, 17, 100, 999, 2000, 19'999}) {
      const auto kept = static_cast<std::size_t>(std::min(k, n));
      const std::vector<Neighbor> want(sorted.begin(), sorted.begin() + static_cast<long>(kept));
      EXPECT_EQ(select(k, stream), want) << "rising ids, n " << n << ", k " << k;
      EXPECT_EQ(select(k, sorted), want) << "sorted, n " << n << ", k " << k;
      const std::vector<Neighbor> falling(sorted.rbegin(), sorted.rend());
      EXPECT_EQ(select(k, falling), want) << "falling, n " << n << ", k " << k;
    }
  }
}

TEST(TopK, InfiniteKeysKeepTheirPlace) {
  const double inf = INFINITY;
  EXPECT_EQ(select(3, {{inf, 2}, {inf, 1}, {-inf, 9}, {0, 4}}),
            (std::vector<Neighbor>{{-inf, 9}, {0, 4}, {inf, 1}}));
}

TEST(TopK, ThresholdFallsOnceTheBufferIsFull) {
  for (const std::int64_t k : {2, 17}) {
    TopK<Neighbor> top(k);
    EXPECT_EQ(top.threshold(), INFINITY);
    for (std::int64_t i = 0; i < TopK<Neighbor>::most_held(k); ++i) {
      top.offer({static_cast<double>(i), i});
    }
    EXPECT_EQ(top.threshold(), static_cast<double>(k - 1));
  }
}

TEST(TopK, ASmallOneHasTheNewestThreshold) {
  TopK<Neighbor> top(3, 10.0);
  EXPECT_EQ(top.threshold(), 10.0);
  EXPECT_FALSE(top.offer({11, 0}));
  std::vector<double> thresholds;
  for (const double key : {9.0, 8.0, 7.0, 7.5, 9.5, 1.0, 7.5, 2.0}) {
    top.offer({key, static_cast<std::int64_t>(key * 10)});
    thresholds.push_back(top.threshold());
  }
  EXPECT_EQ(thresholds, (std::vector<double>{10, 10, 9, 8, 8, 7.5, 7.5, 7}));
  const auto found = top.finish();
  EXPECT_EQ(std::vector<Neighbor>(found.begin(), found.end()),
            (std::vector<Neighbor>{{1, 10}, {2, 20}, {7, 70}}));
}

TEST(TopK, AskingForManyReservesFew) {
  TopK<Neighbor> best(std::int64_t{1} << 40);
  for (std::int64_t id = 200'000; id > 0; --id) best.offer({1, id});
  const auto found = best.finish();
  ASSERT_EQ(found.size(), 200'000u);
  EXPECT_EQ(found.front(), (Neighbor{1, 1}));
  EXPECT_EQ(found.back(), (Neighbor{1, 200'000}));
}

}  // namespace
}  // namespace nearfield
