// Answers that are the same to the bit.
#pragma once

#include <gtest/gtest.h>
#include <nearfield/results.hpp>

namespace nearfield::test {

inline void expect_same_answers(const Neighbors& found, const Neighbors& expected) {
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.keys, expected.keys);
  EXPECT_EQ(found.distances, expected.distances);
  EXPECT_EQ(found.counts, expected.counts);
}

inline void expect_same_answers(const Ranges& found, const Ranges& expected) {
  EXPECT_EQ(found.offsets, expected.offsets);
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.keys, expected.keys);
  EXPECT_EQ(found.distances, expected.distances);
}

}  // namespace nearfield::test
