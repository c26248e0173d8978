#include "select/threshold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include <nearfield/context.hpp>

#include "core/random.hpp"

namespace nearfield {
namespace {

// Of `count` values, the i-th.
using MakeValue = std::function<double(std::int64_t i, std::int64_t count)>;

// What misleads a sample, fills the range or has no k-th value at all.
const MakeValue kValueShapes[] = {
    [](std::int64_t i, std::int64_t) { return static_cast<double>(i); },
    [](std::int64_t i, std::int64_t count) { return static_cast<double>(count - i); },
    [](std::int64_t, std::int64_t) { return 4.0; },
    [](std::int64_t, std::int64_t) { return -INFINITY; },
    [](std::int64_t, std::int64_t) { return INFINITY; },
    [](std::int64_t, std::int64_t) { return NAN; },
    [](std::int64_t i, std::int64_t) { return i % 2 == 0 ? 0.0 : -0.0; },
    [](std::int64_t i, std::int64_t) { return i % 3 == 0 ? NAN : static_cast<double>(i % 7); },
    // Two and three values, in an order that a sample tells well.
    [](std::int64_t i, std::int64_t) {
      return static_cast<double>(Random(1, static_cast<std::uint64_t>(i)).below(2));
    },
    [](std::int64_t i, std::int64_t) {
      return static_cast<double>(Random(1, static_cast<std::uint64_t>(i)).below(3) - 1);
    },
    // All but a few are close to each other, and none of the few may be in the sample.
    [](std::int64_t i, std::int64_t) {
      return i % 4'999 == 0 ? static_cast<double>(-i) : 1 + static_cast<double>(i % 977) * 0x1p-20;
    },
    [](std::int64_t i, std::int64_t) { return Random(1, static_cast<std::uint64_t>(i)).normal(); },
};

template <class T>
void expect_exact(const std::vector<T>& values, bool largest, Isa isa) {
  const ValueKernels<T>& kernels = select_kernels(isa).of<T>(largest);
  const Context context;
  Monitor monitor(context, 1);
  Pace pace(monitor);
  ThresholdFinder<T> finder(kernels, largest);
  std::vector<T> keys;
  for (const T value : values) {
    if (!std::isnan(value)) keys.push_back(largest ? -value : value);
  }
  std::sort(keys.begin(), keys.end());
  const auto count = static_cast<std::int64_t>(values.size());
  for (const std::int64_t k :
       std::initializer_list<std::int64_t>{1, 2, count / 100, count / 2, count - 1, count}) {
    if (k < 1) continue;
    const Threshold<T> found = finder.exact(values, k, pace);
    const T last = largest ? -found.last : found.last;
    const auto kept = std::min<std::int64_t>(k, std::ssize(keys));
    const auto before = std::lower_bound(keys.begin(), keys.end(), last) - keys.begin();
    const auto in_time = std::upper_bound(keys.begin(), keys.end(), last) - keys.begin();
    const std::int64_t ties = in_time - before;
    ASSERT_EQ(before + std::min<std::int64_t>(ties, found.ties), kept)
        << "k " << k << " of " << count << ", largest " << largest << ", " << to_string(isa);

    const T near = largest ? -finder.near(values, k) : finder.near(values, k);
    const auto up_to = std::upper_bound(keys.begin(), keys.end(), near) - keys.begin();
    const auto less = std::lower_bound(keys.begin(), keys.end(), near) - keys.begin();
    ASSERT_GE(up_to, kept);
    ASSERT_TRUE(up_to <= k + k / 16 + 4 || less < k) << up_to << " near " << k;
  }
}

template <class T>
void expect_exact_of_every_shape(std::int64_t count) {
  for (const MakeValue& make : kValueShapes) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(make(i, count)));
    for (const Isa isa : available_isas()) {
      expect_exact(values, false, isa);
      expect_exact(values, true, isa);
    }
  }
}

TEST(Threshold, IsExactOfEveryShape) {
  // 2^14 is where samples begin.
  for (const std::int64_t count : {1, 63, 1'000, (1 << 14) - 1, 1 << 14, 50'001}) {
    expect_exact_of_every_shape<float>(count);
  }
  expect_exact_of_every_shape<double>(20'000);
}

}  // namespace
}  // namespace nearfield
