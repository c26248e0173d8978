#include "select/sort_items.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <nearfield/results.hpp>

#include "core/random.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kMostId = std::numeric_limits<std::int64_t>::max();

template <class T>
void expect_sorted(std::vector<Neighbor> pairs) {
  std::vector<Neighbor> expected = pairs;
  std::sort(expected.begin(), expected.end());
  std::vector<Neighbor> spare(pairs.size());
  sort_items<T, Neighbor>(pairs, spare);
  ASSERT_EQ(pairs, expected) << pairs.size() << " by " << sizeof(T) << " bytes";
}

// Both zeros, both infinities, subnormal and other float32 values, many of them more than once.
double awkward_key(Random& random) {
  constexpr double kKeys[] = {INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 0x1p-149, -0x1p-149, 3e38};
  return random.below(3) == 0 ? static_cast<double>(static_cast<float>(random.normal()))
                              : kKeys[random.below(std::ssize(kKeys))];
}

TEST(SortItems, EqualsStdSort) {
  for (const std::int64_t count :
       std::initializer_list<std::int64_t>{0, 1, 2, kRadixFrom - 1, kRadixFrom, 257, 10'000}) {
    Random random(static_cast<std::uint64_t>(count));
    std::vector<Neighbor> pairs;
    for (std::int64_t i = 0; i < count; ++i) {
      pairs.push_back({awkward_key(random), random.below(100) - 50});
    }
    expect_sorted<float>(pairs);
    expect_sorted<double>(pairs);
  }
}

TEST(SortItems, KeysThatShareDigits) {
  std::vector<Neighbor> pairs;
  for (std::int64_t i = 0; i < 300; ++i) pairs.push_back({i % 2 == 0 ? 1.0 : 1.0 + 0x1p-52, -i});
  expect_sorted<double>(pairs);
}

TEST(SortItems, RisingAndFalling) {
  std::vector<Neighbor> pairs;
  for (std::int64_t i = 0; i < 1'000; ++i) pairs.push_back({static_cast<double>(i / 3), i});
  expect_sorted<float>(pairs);
  std::reverse(pairs.begin(), pairs.end());
  expect_sorted<float>(pairs);
  std::swap(pairs.front(), pairs.back());
  expect_sorted<float>(pairs);
}

// Equal keys: the ids are sorted by their digits, an odd and an even number of which differ.
TEST(SortItems, EqualKeysWithIdsFromAllOverTheRange) {
  Random random(4);
  std::vector<Neighbor> pairs;
  for (std::int64_t i = 0; i < 1'000; ++i)
    pairs.push_back({1, random.below(kMostId) - kMostId / 2});
  pairs.push_back({-0.0, kMostId});
  pairs.push_back({0.0, -kMostId - 1});
  expect_sorted<float>(pairs);
  for (Neighbor& pair : pairs) pair.id %= 200;
  expect_sorted<float>(pairs);
  for (Neighbor& pair : pairs) pair.id = std::abs(pair.id);
  expect_sorted<double>(pairs);
}

}  // namespace
}  // namespace nearfield
