#include "scan/pair_sink.hpp"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace nearfield {
namespace {

// What is not admitted must not take the place of what is.
TEST(PairCollection, KeepsTheClosestOfThoseAdmitted) {
  FoundBudget budget(std::nullopt, "");
  PairCollection pairs(
      10, [](double key) { return key != 1; }, 2, budget);
  Candidates candidates;
  candidates.start_dense({{0, 1}, {0, 4}});
  pairs.take(candidates, std::vector<double>{3, 1, 2, 1});
  const std::span<const KeyedPair> found = pairs.finish();
  EXPECT_EQ(std::vector(found.begin(), found.end()),
            (std::vector<KeyedPair>{{2, 0, 2}, {3, 0, 0}}));
}

}  // namespace
}  // namespace nearfield
