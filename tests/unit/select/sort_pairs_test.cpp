#include "select/sort_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.hpp"

namespace nearfield {
namespace {

// Both zeros, both infinities, subnormal and other float32 values, many of them more than once.
double awkward_key(Random& random) {
  constexpr double kKeys[] = {INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 0x1p-149, -0x1p-149, 3e38};
  return random.below(3) == 0 ? static_cast<double>(static_cast<float>(random.normal()))
                              : kKeys[random.below(std::ssize(kKeys))];
}

TEST(SortPairs, EqualsStdSort) {
  std::vector<Neighbor> spare;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t count :
         std::initializer_list<std::int64_t>{0, 1, 2, kRadixFrom - 1, kRadixFrom, 257, 10'000}) {
      Random random(static_cast<std::uint64_t>(count));
      std::vector<Neighbor> pairs;
      for (std::int64_t i = 0; i < count; ++i) {
        pairs.push_back({awkward_key(random), random.below(100) - 50});
      }
      std::vector<Neighbor> expected = pairs;
      std::sort(expected.begin(), expected.end());
      sort_pairs(dtype, pairs, spare);
      ASSERT_EQ(pairs, expected) << count << " of " << to_string(dtype);
    }
  }
}

TEST(SortPairs, KeysThatShareDigits) {
  std::vector<Neighbor> pairs;
  std::vector<Neighbor> spare;
  for (std::int64_t i = 0; i < 300; ++i) pairs.push_back({i % 2 == 0 ? 1.0 : 1.0 + 0x1p-52, -i});
  std::vector<Neighbor> expected = pairs;
  std::sort(expected.begin(), expected.end());
  sort_pairs(DType::f64, pairs, spare);
  EXPECT_EQ(pairs, expected);
}

}  // namespace
}  // namespace nearfield
