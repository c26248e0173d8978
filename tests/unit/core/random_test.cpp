#include "core/random.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace nearfield {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The known answers that the authors of Philox publish with their Random123 library.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, SameSeedSameNumbersAndOtherStreamsOther) {
  Random a(7), b(7), other_stream(7, 1), other_seed(8);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t x = a.next_u64();
    EXPECT_EQ(x, b.next_u64());
    EXPECT_NE(x, other_stream.next_u64());
    EXPECT_NE(x, other_seed.next_u64());
  }
}

// Proven on every CPU that the quick tests run on, emulated ones too.
TEST(Random, NormalsAreTheSameBitsEverywhere) {
  Random random(42);
  std::uint64_t hash = 0;
  for (int i = 0; i < 100'000; ++i) {
    hash = hash * 6364136223846793005 + std::bit_cast<std::uint64_t>(random.normal());
  }
  EXPECT_EQ(hash, 8949144273642440296u);
}

TEST(Random, RangesAndMoments) {
  Random random(1);
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    const std::int64_t below = random.below(3);
    ASSERT_GE(below, 0);
    ASSERT_LT(below, 3);
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  // Five standard deviations of the mean and of the variance.
  EXPECT_NEAR(sum / kCount, 0.0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 5 * std::sqrt(2.0 / kCount));
}

}  // namespace
}  // namespace nearfield
