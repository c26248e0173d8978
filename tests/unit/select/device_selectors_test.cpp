// Every selector of a device gives what the CPU does. The device is named by NEARFIELD_TEST_DEVICE.
#include "select/gpu/selectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <nearfield/select.hpp>

#include "core/random.hpp"
#include "device/gpu/open.hpp"
#include "select/gpu/select_on_device.hpp"

namespace nearfield {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class DeviceSelectors : public testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("NEARFIELD_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "NEARFIELD_TEST_DEVICE names no device to test on";
    context_.device = device;
  }

  Context context_;
};

using Value = std::function<double(std::int64_t)>;

// Rows that selections have trouble with.
std::vector<float> hard_rows(std::int64_t cols) {
  Random random(8);
  const std::int64_t lucky = cols / 3;
  const std::vector<Value> kinds = {
      [&](std::int64_t) { return random.normal(); },
      // Ties, with both zeros.
      [&](std::int64_t i) {
        const auto value = static_cast<double>(random.below(5) - 2);
        return value == 0 && i % 2 == 0 ? -0.0 : value;
      },
      [&](std::int64_t) {
        const std::int64_t kind = random.below(10);
        if (kind < 3) return kNan;
        if (kind < 6) return kind == 3 ? -kInf : kInf;
        return random.normal();
      },
      [&](std::int64_t i) { return static_cast<double>(i); },
      [&](std::int64_t i) { return static_cast<double>(-i); },
      [&](std::int64_t) { return 7.0; },
      [&](std::int64_t) { return kNan; },
      [&](std::int64_t i) { return i == lucky ? 1.0 : kNan; },
  };
  std::vector<float> values;
  for (const Value& value : kinds) {
    for (std::int64_t i = 0; i < cols; ++i) values.push_back(static_cast<float>(value(i)));
  }
  return values;
}

// The same from every selector that takes k.
void expect_same(const std::vector<float>& values, std::int64_t cols, std::int64_t k,
                 const Context& device) {
  const ValuesView view(values.data(), std::ssize(values) / cols, cols);
  for (const bool largest : {false, true}) {
    SelectOptions options;
    options.k = k;
    options.largest = largest;
    const Selected expected = select_k(view, options);
    for (const DeviceSelector& selector : device_selectors()) {
      if (std::min(k, cols) > selector.most_k) continue;
      SCOPED_TRACE(testing::Message() << selector.name << ", " << view.rows() << " rows of " << cols
                                      << ", k " << k << ", largest " << largest);
      const Selected found = select_on_device({view}, options, device, &selector);
      EXPECT_TRUE(found.counts == expected.counts);
      EXPECT_TRUE(found.ids == expected.ids);
      EXPECT_TRUE(found.values == expected.values);
      EXPECT_EQ(found.stats.plan.selector, selector.name);
    }
  }
}

TEST_F(DeviceSelectors, SelectWhatTheCpuDoes) {
  constexpr std::int64_t kCols = 12'345;
  const std::vector<float> values = hard_rows(kCols);
  for (const std::int64_t k : {1, 2, 31, 100, 2047, 2048, 2049, 10'000}) {
    expect_same(values, kCols, k, context_);
  }
  expect_same(values, kCols, kCols, context_);
}

TEST_F(DeviceSelectors, TakeRowsOfAnyLength) {
  for (const std::int64_t cols : {1, 2, 3, 33, 257, 2048, 2049}) {
    const std::vector<float> values = hard_rows(cols);
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{2}, cols / 2 + 1, cols, cols + 5}) {
      expect_same(values, cols, k, context_);
    }
  }
}

// Few rows that are long: in parts, and in several rounds of sampling.
TEST_F(DeviceSelectors, TakeLongRows) {
  constexpr std::int64_t kCols = 1'000'003;
  Random random(9);
  std::vector<float> values(static_cast<std::size_t>(kCols));
  for (float& value : values) value = static_cast<float>(random.normal());
  for (const std::int64_t k : {2, 700, 3000}) expect_same(values, kCols, k, context_);
}

// The mean of how often bits merges its buffer on a row in random order, k being the capacity.
double mean_merges(const Context& context, std::int64_t k, std::int64_t cols) {
  constexpr std::int64_t kRows = 16;
  Random random(10);
  std::vector<float> values;
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<float> shuffled(static_cast<std::size_t>(cols));
    std::iota(shuffled.begin(), shuffled.end(), 0.0F);
    for (std::int64_t i = cols - 1; i > 0; --i) {
      std::swap(shuffled[static_cast<std::size_t>(i)],
                shuffled[static_cast<std::size_t>(random.below(i + 1))]);
    }
    values.insert(values.end(), shuffled.begin(), shuffled.end());
  }
  gpu::Device& device = gpu::open_device(context.device).device;
  const auto queue = device.make_queue(0);
  const auto on_device = device.allocate(kRows * cols * 4);
  const auto items = device.allocate(kRows * k * kItemBytes);
  const auto counts = device.allocate(kRows * 4);
  queue->write(*on_device, values.data());
  queue->run({"bits_" + std::to_string(k), "bits"}, {kRows, 1},
             {*on_device, kSourceFloats, static_cast<std::uint32_t>(cols), std::uint32_t{0},
              static_cast<std::uint32_t>(k), *items, *counts});
  std::vector<std::uint32_t> merges(kRows);
  queue->read(*counts, merges.data());
  queue->wait();
  return std::accumulate(merges.begin(), merges.end(), 0.0) / kRows;
}

// The seed (Hanák 2023, equation 4.3) proves a mean of at most 3 + 2 ln(n / k).
TEST_F(DeviceSelectors, BitsMergesAsSeldomAsProven) {
  struct Case {
    std::int64_t k;
    std::int64_t cols;
  };
  for (const auto& [k, cols] :
       {Case{32, 16'384}, Case{128, 32'768}, Case{512, 32'768}, Case{2048, 65'536}}) {
    const double bound = 3 + 2 * std::log(static_cast<double>(cols) / static_cast<double>(k));
    const double mean = mean_merges(context_, k, cols);
    RecordProperty("merges_" + std::to_string(k), std::to_string(mean));
    EXPECT_LE(mean, bound) << "k " << k;
    EXPECT_GE(mean, bound / 2) << "k " << k << ": too few to be true";
  }
}

}  // namespace
}  // namespace nearfield
