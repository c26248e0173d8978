// Powers against the C library's in higher precision, and where they are exact.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.hpp"

namespace nearfield {
namespace {

#define NEARFIELD_INLINE inline
// clang-format off
#include "distance/scalar_operations.h"
// clang-format on

// |got - want| in units of the last place of `want`.
double error_in_units(double got, long double want) {
  const double rounded = static_cast<double>(want);
  const double unit = std::nextafter(rounded, std::numeric_limits<double>::infinity()) - rounded;
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / unit);
}

TEST(Power, IsWithinTwoUnitsOfTheLastPlace) {
  Random random(1);
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::exp2(40 * random.uniform() - 20);
    const double p = 0.01 + 6 * random.uniform();
    worst =
        std::max(worst, error_in_units(any_power(x, p), std::pow(static_cast<long double>(x), p)));
  }
  EXPECT_LT(worst, 2) << "units of the last place";
  EXPECT_GT(worst, 0.4) << "a comparison that cannot fail";
}

TEST(Power, LargeExponentsCostSomeUnits) {
  Random random(3);
  double worst = 0;
  for (int i = 0; i < 50'000; ++i) {
    const double p = 6 + 994 * random.uniform();
    const double x = std::exp2((2 * random.uniform() - 1) * 1000 / p);
    worst =
        std::max(worst, error_in_units(any_power(x, p), std::pow(static_cast<long double>(x), p)));
  }
  EXPECT_LT(worst, 20) << "units of the last place";
}

TEST(Power, StaysCloseAtTheEndsOfTheRange) {
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    const double x = std::exp2(2000 * random.uniform() - 1000);
    const double p = 0.3 + random.uniform() * 0.6;
    const double got = any_power(x, p);
    EXPECT_LT(error_in_units(got, std::pow(static_cast<long double>(x), p)), 8) << x << ' ' << p;
  }
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_NEAR(any_power(tiny, 0.3) / std::pow(tiny, 0.3), 1, 1e-14);
  EXPECT_EQ(any_power(1e300, 1.3), std::numeric_limits<double>::infinity());
  EXPECT_EQ(any_power(1e-300, 1.3), 0);
  EXPECT_EQ(any_power(0.0, 0.3), 0);
  EXPECT_EQ(any_power(std::numeric_limits<double>::infinity(), 0.3),
            std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(any_power(std::nan(""), 0.3)));
  EXPECT_EQ(any_power(1.0, 0.3), 1);
}

TEST(Power, IsExactWhereTheDefinitionIs) {
  EXPECT_EQ(power(3.0, 5), 243);
  EXPECT_EQ(power(9.0, 0.5), 3);
  EXPECT_EQ(power(4.0, 2.5), 32);
  EXPECT_EQ(power(7.0, 1), 7);
  EXPECT_EQ(power(0.0, 3), 0);
}

}  // namespace
}  // namespace nearfield
