#include "cli/nearest_name.hpp"

#include <array>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace nearfield::cli {
namespace {

TEST(EditDistance, CountsLettersAddedDroppedReplacedAndSwapped) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("range", "range"), 0U);
  EXPECT_EQ(edit_distance("", "knn"), 3U);
  EXPECT_EQ(edit_distance("kn", "knn"), 1U);
  EXPECT_EQ(edit_distance("knnn", "knn"), 1U);
  EXPECT_EQ(edit_distance("kmn", "knn"), 1U);
  EXPECT_EQ(edit_distance("rnage", "range"), 1U);
  EXPECT_EQ(edit_distance("abc", "xyz"), 3U);
}

TEST(NearestName, IsTheFirstOfTheFewestEditsIfThatIsNear) {
  const std::array<std::string, 4> names{"--metric", "--memory", "--bits", "--bats"};
  EXPECT_EQ(nearest_name("--metrc", names), "--metric");
  EXPECT_EQ(nearest_name("--bots", names), "--bits");
  EXPECT_EQ(nearest_name("--bats", names), "--bats");
  EXPECT_EQ(nearest_name("--output", names), std::nullopt);
  EXPECT_EQ(nearest_name("--metric", {}), std::nullopt);
}

}  // namespace
}  // namespace nearfield::cli
