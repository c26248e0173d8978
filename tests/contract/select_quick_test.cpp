// select_k on every ISA and device, against a sort of each row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "core/random.hpp"
#include "tests/contract/backends.hpp"

namespace nearfield::contract {
namespace {

// Long enough for groups, chunks' ends and samples; small enough for an emulator.
constexpr std::int64_t kSelectCols = 20'003;
constexpr std::int64_t kSelectRows = 6;

// Random, ties with both zeros, NaN and infinities, descending, ascending, all equal, no value.
double value_at(std::int64_t row, std::int64_t i, Random& random) {
  constexpr double kAwkward[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 1e-42};
  switch (row) {
    case 0:
      return random.normal();
    case 1:
      return kAwkward[random.below(std::ssize(kAwkward))];
    case 2:
      return static_cast<double>(kSelectCols - i);
    case 3:
      return static_cast<double>(i);
    case 4:
      return 4;
    default:
      return NAN;
  }
}

template <class T>
std::vector<Neighbor> sorted_row(const std::vector<T>& values, std::int64_t row, bool largest) {
  std::vector<Neighbor> pairs;
  for (std::int64_t i = 0; i < kSelectCols; ++i) {
    const auto value = static_cast<double>(values[static_cast<std::size_t>(row * kSelectCols + i)]);
    if (!std::isnan(value)) pairs.push_back({largest ? -value : value, i});
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

template <class T>
void expect_sorted(bool largest) {
  Random random(9);
  std::vector<T> values;
  for (std::int64_t row = 0; row < kSelectRows; ++row) {
    for (std::int64_t i = 0; i < kSelectCols; ++i) {
      values.push_back(static_cast<T>(value_at(row, i, random)));
    }
  }
  std::vector<std::vector<Neighbor>> want;
  for (std::int64_t row = 0; row < kSelectRows; ++row)
    want.push_back(sorted_row(values, row, largest));

  for (const Backend& backend : backends()) {
    for (const std::int64_t k :
         std::initializer_list<std::int64_t>{1, 100, 2'048, 10'000, kSelectCols}) {
      SelectOptions options;
      options.k = k;
      options.largest = largest;
      const Selected got =
          select_k({values.data(), kSelectRows, kSelectCols}, options, backend.context);
      EXPECT_TRUE(got.stats.plan.kernel.ends_with("/" + backend.name)) << got.stats.plan.kernel;
      for (std::int64_t row = 0; row < kSelectRows; ++row) {
        const std::vector<Neighbor>& all = want[static_cast<std::size_t>(row)];
        ASSERT_EQ(got.counts[static_cast<std::size_t>(row)], std::min(k, std::ssize(all)));
        for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(k, std::ssize(all))); ++i) {
          ASSERT_EQ(got.ids_of(row)[i], all[i].id)
              << backend.name << ", k " << k << ", row " << row;
          ASSERT_EQ(got.values_of(row)[i], largest ? -all[i].key : all[i].key);
        }
      }
    }
  }
}

TEST(Select, EqualsASortOnEveryBackend) {
  for (const bool largest : {false, true}) {
    expect_sorted<float>(largest);
    expect_sorted<double>(largest);
  }
}

// A row that is cut into parts, whose first are selected from again.
TEST(Select, ALongRowIsNoDifferent) {
  Random random(3);
  std::vector<float> values;
  for (int i = 0; i < 200'003; ++i) values.push_back(static_cast<float>(random.below(50'000)));
  const ValuesView row(values.data(), 1, std::ssize(values));
  for (const std::int64_t k : {1, 100, 1'000}) {
    SelectOptions options;
    options.k = k;
    const Selected want = select_k(row, options, backends().front().context);
    for (const Backend& backend : backends()) {
      const Selected got = select_k(row, options, backend.context);
      EXPECT_EQ(got.ids, want.ids) << backend.name << ", k " << k;
      EXPECT_EQ(got.values, want.values) << backend.name << ", k " << k;
    }
  }
}

TEST(Select, SmallMemoryOfADeviceDoesNotMatter) {
  Random random(4);
  std::vector<double> wide;
  for (int i = 0; i < 5 * 9'001; ++i) wide.push_back(static_cast<double>(random.below(300)));
  const std::vector<float> values(wide.begin(), wide.end());
  for (const std::int64_t k : {7, 3'000}) {
    SelectOptions options;
    options.k = k;
    const Selected want = select_k({wide.data(), 5, 9'001}, options);
    for (Backend& backend : backends()) {
      for (const std::int64_t limit : {130'000, 400'000}) {
        if (!backend.context.device.empty()) backend.context.device_memory_limit = limit;
        EXPECT_EQ(select_k({values.data(), 5, 9'001}, options, backend.context).ids, want.ids)
            << backend.name << ", k " << k << ", limit " << limit;
        EXPECT_EQ(select_k({wide.data(), 5, 9'001}, options, backend.context).ids, want.ids)
            << backend.name << ", k " << k << ", limit " << limit;
      }
    }
  }
}

TEST(Select, AMemoryLimitIsKeptOrRefused) {
  const std::vector<float> values(50 * 2'000, 1);
  SelectOptions options;
  options.k = 500;
  for (Backend& backend : backends()) {
    backend.context.memory_limit = 700'000;
    const Selected got = select_k({values.data(), 50, 2'000}, options, backend.context);
    EXPECT_LE(got.stats.plan.result_bytes + got.stats.plan.working_bytes, 700'000) << backend.name;
    EXPECT_EQ(got.ids_of(49)[499], 499) << backend.name;
    backend.context.memory_limit = 400'000;
    try {
      select_k({values.data(), 50, 2'000}, options, backend.context);
      ADD_FAILURE() << backend.name << " took more than it may";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::memory_limit) << backend.name;
    }
  }
}

}  // namespace
}  // namespace nearfield::contract
