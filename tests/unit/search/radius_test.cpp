#include "search/radius.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nearfield {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double fifth_power(double x) { return x * x * x * x * x; }

TEST(Radius, IsWithinItself) {
  for (int i = 1; i <= 1000; ++i) {
    const double r = i;
    for (const auto& [metric, key] : {std::pair<MetricSpec, double>{Metric::sqeuclidean, r},
                                      {Metric::euclidean, r * r},
                                      {Metric::inner_product, -r},
                                      {lp(3), r * r * r},
                                      {lp(5), fifth_power(r)},
                                      {lp(2.5), r * r * std::sqrt(r)}}) {
      const Radius radius(metric, r);
      EXPECT_TRUE(radius.admits(key)) << to_string(metric) << ' ' << r;
      EXPECT_GE(radius.largest_key(), key) << to_string(metric) << ' ' << r;
      EXPECT_FALSE(radius.admits(key + std::abs(key) * 1e-12)) << to_string(metric) << ' ' << r;
    }
  }
}

// What a search reported can be asked for as a radius.
TEST(Radius, AdmitsTheKeyThatWasReported) {
  for (const MetricSpec metric :
       {MetricSpec(Metric::euclidean), lp(0.3), lp(1.7), lp(5), lp(900)}) {
    for (double key = 1e-30; key < 1e30; key *= 1.37) {
      const Radius radius(metric, reported_value(metric, key));
      EXPECT_TRUE(radius.admits(key)) << to_string(metric) << ' ' << key;
      EXPECT_LE(key, radius.largest_key()) << to_string(metric) << ' ' << key;
    }
  }
}

// Where what is reported is subnormal, many keys are reported as one value.
TEST(Radius, HoldsForSubnormalValues) {
  const double step = std::numeric_limits<double>::denorm_min();
  for (const MetricSpec metric : {lp(0.5), lp(0.7), lp(0.3)}) {
    for (int steps = 1; steps < 200; ++steps) {
      const double key = key_of(metric, steps * step) * 1.01;
      const Radius radius(metric, reported_value(metric, key));
      EXPECT_TRUE(radius.admits(key)) << to_string(metric) << ' ' << steps;
      EXPECT_LE(key, radius.largest_key()) << to_string(metric) << ' ' << steps;
    }
  }
}

TEST(Radius, BoundsOnlyWhatIsReportedSo) {
  EXPECT_FALSE(Radius(Metric::euclidean, -1).admits(0));
  EXPECT_LT(Radius(lp(3), -1).largest_key(), 0);
  EXPECT_TRUE(Radius(lp(3), 0).admits(0));
  EXPECT_FALSE(Radius(lp(3), 0).admits(5e-324));
  EXPECT_FALSE(Radius(lp(3), 1e200).admits(kInf)) << "a sum that overflowed may be any distance";
  EXPECT_TRUE(Radius(lp(3), kInf).admits(kInf));
}

}  // namespace
}  // namespace nearfield
