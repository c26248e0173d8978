#include "select/keep_first.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include <nearfield/results.hpp>

#include "core/random.hpp"

namespace nearfield {
namespace {

// Of `count` items, the i-th.
using Make = std::function<Neighbor(std::int64_t i, std::int64_t count)>;

std::int64_t scattered(std::int64_t i, std::int64_t bound) {
  return Random(1, static_cast<std::uint64_t>(i)).below(bound);
}

// What a sample tells well, and what misleads it.
const Make kShapes[] = {
    [](std::int64_t i, std::int64_t) {
      return Neighbor{Random(2, static_cast<std::uint64_t>(i)).normal(), i};
    },
    [](std::int64_t i, std::int64_t) {
      return Neighbor{static_cast<double>(i), -i};
    },
    [](std::int64_t i, std::int64_t count) {
      return Neighbor{static_cast<double>(count - i), i};
    },
    [](std::int64_t i, std::int64_t) {
      return Neighbor{INFINITY, scattered(i, 1'000'000)};
    },
    [](std::int64_t, std::int64_t) {
      return Neighbor{-INFINITY, 7};
    },
    [](std::int64_t i, std::int64_t count) {
      return Neighbor{static_cast<double>(scattered(i, 2)), count - i};
    },
    // One of each sixteen, as many as are sampled, is like no other.
    [](std::int64_t i, std::int64_t) {
      return Neighbor{i % 16 == 0 ? 1e9 : 0.5, i * 7 % 1'001};
    },
    [](std::int64_t i, std::int64_t) {
      return Neighbor{i % 16 == 0 ? -1.0 : static_cast<double>(scattered(i, 1'000)), -i};
    },
};

TEST(KeepFirst, EqualsTheHeadOfASort) {
  for (const Make& make : kShapes) {
    for (const std::int64_t count : std::initializer_list<std::int64_t>{
             1, 2, kPivotItemsFrom - 1, kPivotItemsFrom, 12, 113, 1'001, kSampleItemsFrom - 1,
             kSampleItemsFrom, 40'000}) {
      std::vector<Neighbor> items;
      for (std::int64_t i = 0; i < count; ++i) items.push_back(make(i, count));
      std::vector<Neighbor> sorted = items;
      std::sort(sorted.begin(), sorted.end());
      for (const std::int64_t k : std::initializer_list<std::int64_t>{
               0, 1, count / 50, count / 2, count - 1, count, count + 1}) {
        std::vector<Neighbor> kept = items;
        keep_first(kept, k);
        const std::int64_t size = std::min(k, count);
        ASSERT_EQ(std::ssize(kept), size);
        if (size > 0 && size < count) {
          EXPECT_EQ(kept.back(), sorted[kept.size() - 1]);
        }
        std::sort(kept.begin(), kept.end());
        ASSERT_EQ(kept, std::vector(sorted.begin(), sorted.begin() + size))
            << "shape " << &make - kShapes << ", k " << k << " of " << count;
      }
    }
  }
}

TEST(KeepFirst, GivesUpWhereNoPivotIsGood) {
  std::vector<Neighbor> items(100);
  Narrowed<Neighbor> rest{items, 50};
  EXPECT_FALSE(rest.narrow_by([](const Neighbor&) { return std::nan(""); }));  // not before itself
  EXPECT_EQ(rest.items.size(), items.size());
  EXPECT_EQ(rest.k, 50);
}

}  // namespace
}  // namespace nearfield
