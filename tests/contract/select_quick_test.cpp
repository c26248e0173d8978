// select_k on every ISA, against a sort of each row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "core/random.hpp"
#include "tests/contract/isa_sweep.hpp"

namespace nearfield::contract {
namespace {

// Long enough for groups, chunks' ends and samples; small enough for an emulator.
constexpr std::int64_t kCols = 20'003;
constexpr std::int64_t kRows = 6;

// Random, ties with both zeros, NaN and infinities, descending, ascending, all equal, no value.
double value_at(std::int64_t row, std::int64_t i, Random& random) {
  constexpr double kAwkward[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 1e-42};
  switch (row) {
    case 0:
      return random.normal();
    case 1:
      return kAwkward[random.below(std::ssize(kAwkward))];
    case 2:
      return static_cast<double>(kCols - i);
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
  for (std::int64_t i = 0; i < kCols; ++i) {
    const auto value = static_cast<double>(values[static_cast<std::size_t>(row * kCols + i)]);
    if (!std::isnan(value)) pairs.push_back({largest ? -value : value, i});
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

template <class T>
void expect_sorted(bool largest) {
  Random random(9);
  std::vector<T> values;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t i = 0; i < kCols; ++i) {
      values.push_back(static_cast<T>(value_at(row, i, random)));
    }
  }
  std::vector<std::vector<Neighbor>> want;
  for (std::int64_t row = 0; row < kRows; ++row) want.push_back(sorted_row(values, row, largest));

  for (const Isa isa : available_isas()) {
    for (const std::int64_t k : std::initializer_list<std::int64_t>{1, 100, 5'000, kCols - 1}) {
      SelectOptions options;
      options.k = k;
      options.largest = largest;
      const Selected got = select_k({values.data(), kRows, kCols}, options, forced(isa));
      EXPECT_EQ(got.stats.plan.isa, isa);
      for (std::int64_t row = 0; row < kRows; ++row) {
        const std::vector<Neighbor>& all = want[static_cast<std::size_t>(row)];
        ASSERT_EQ(got.counts[static_cast<std::size_t>(row)], std::min(k, std::ssize(all)));
        for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(k, std::ssize(all))); ++i) {
          ASSERT_EQ(got.ids_of(row)[i], all[i].id)
              << to_string(isa) << ", k " << k << ", row " << row;
          ASSERT_EQ(got.values_of(row)[i], largest ? -all[i].key : all[i].key);
        }
      }
    }
  }
}

TEST(Select, EqualsASortOnEveryIsa) {
  for (const bool largest : {false, true}) {
    expect_sorted<float>(largest);
    expect_sorted<double>(largest);
  }
}

}  // namespace
}  // namespace nearfield::contract
