#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/version.hpp>

#include "select/gpu/row_parts.hpp"
#include "select/gpu/selectors.hpp"
#include "tests/unit/device/named_tuning.hpp"

namespace nearfield {
namespace {

std::string chosen(std::int64_t rows, std::int64_t cols, std::int64_t k) {
  gpu::Facts facts;
  facts.name = "a card";
  facts.driver = "1.2";
  return std::string(choose_selector(facts, {rows, cols, k, false}).name);
}

TEST(ChooseSelector, FollowsTheRulesWhereNothingWasMeasured) {
  EXPECT_EQ(chosen(1, 1'000'000, 1), "bits");
  EXPECT_EQ(chosen(1000, 1'000'000, 2048), "bits");
  EXPECT_EQ(chosen(7, 2048, 2048), "bits");
  EXPECT_EQ(chosen(1000, 1'000'000, 2049), "bits_in_memory");
  EXPECT_EQ(chosen(1000, 20'000, 4096), "bits_in_memory");
  EXPECT_EQ(chosen(1000, 100'000, 4097), "sample_two_stage");
  EXPECT_EQ(chosen(1000, 99'999, 4097), "radix");
  EXPECT_EQ(chosen(1000, 1'000'000, 300'000), "sample_two_stage");
  EXPECT_EQ(chosen(1000, 1'000'000, 300'001), "full_sort");
  EXPECT_EQ(chosen(1000, 20'000, 10'000), "radix");
  EXPECT_EQ(chosen(1000, 20'000, 10'001), "full_sort");
  EXPECT_EQ(chosen(1, 5000, 4000), "full_sort");
}

TEST(ChooseSelector, TakesWhatWasMeasured) {
  TuningPoint small{{1, 10'000, 1, 10}, {}};
  TuningPoint large{{1, 10'000, 1, 5000}, {}};
  for (const DeviceSelector& selector : device_selectors()) {
    const std::string name(selector.name);
    small.timings.push_back({name, {name == "merge_queue" ? 0.1 : 1}});
    if (selector.most_k >= 5000) large.timings.push_back({name, {name == "radix" ? 0.1 : 1}});
  }
  const test::NamedTuning named(
      TuningTable{"a card", "1.2", std::string(version()), "", {small, large}, {}, {}});
  EXPECT_EQ(chosen(1, 10'000, 10), "merge_queue");
  EXPECT_EQ(chosen(1, 10'000, 1024), "merge_queue");
  // It takes no more than 1024: of the others, measured at k = 10 too, the first is as fast.
  EXPECT_EQ(chosen(1, 10'000, 1025), "bits");
  EXPECT_EQ(chosen(1, 10'000, 4000), "radix");
}

TEST(RowParts, AreAsManyAsAreMergedInTime) {
  EXPECT_EQ(parts_of({1, 128'000'000, 10, false}), 256);
  EXPECT_EQ(parts_of({1, 128'000'000, 1024, false}), 256);
  EXPECT_EQ(parts_of({1, 128'000'000, 1025, false}), 128);
  EXPECT_EQ(parts_of({100, 128'000'000, 10, false}), 11);
  EXPECT_EQ(parts_of({2000, 128'000'000, 10, false}), 1);
  EXPECT_EQ(parts_of({1, 20'000, 10, false}), 1);
}

}  // namespace
}  // namespace nearfield
