// Metrics of sets and numbers: against their definitions, and that each is a metric.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>
#include <vector>

#include <nearfield/metric.hpp>
#include <nearfield/object_metrics.hpp>
#include <nearfield/pivot_index.hpp>

#include "core/random.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using Numbers = std::vector<double>;
using Members = std::vector<std::uint64_t>;
using test::expect_error;
constexpr auto kInvalid = ErrorCode::invalid_argument;

Numbers some_numbers(Random& random, std::int64_t count) {
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(random.normal());
  return numbers;
}

Members some_members(Random& random) {
  std::set<std::uint64_t> members;
  for (std::int64_t i = random.below(9); i > 0; --i) {
    members.insert(static_cast<std::uint64_t>(random.below(12)));
  }
  return {members.begin(), members.end()};
}

// A metric by sampling, and an index under it exact.
template <class T, class Metric, class Make>
void expect_metric(const Metric& metric, const Make& make) {
  Random random(1);
  std::vector<T> objects;
  for (int i = 0; i < 120; ++i) objects.push_back(make(random));
  const MetricReport report = check_metric<T>(metric, objects, 3'000);
  EXPECT_TRUE(report.holds()) << to_string(report);
  PivotIndex<T, Metric> pivots(metric, {.pool = 6});
  PivotIndex<T, Metric> scan(metric, {.pool = 0});
  pivots.add(objects);
  scan.add(objects);
  std::vector<T> queries;
  for (int i = 0; i < 10; ++i) queries.push_back(make(random));
  const Neighbors want = scan.search(queries, {.k = 7});
  const Neighbors got = pivots.search(queries, {.k = 7});
  EXPECT_EQ(got.ids, want.ids);
  EXPECT_EQ(got.keys, want.keys);
  EXPECT_LE(got.stats.pairs_verified, want.stats.pairs_verified + 60);
}

TEST(JaccardDistance, OfSets) {
  const JaccardDistance jaccard;
  EXPECT_EQ(jaccard(Members{}, Members{}), 0);
  EXPECT_EQ(jaccard(Members{1}, Members{}), 1);
  EXPECT_EQ(jaccard(Members{1, 2, 9}, Members{2, 9, 10}), 0.5);
  EXPECT_EQ(jaccard(Members{3, 5}, Members{3, 5}), 0);
  expect_error([&] { jaccard(Members{2, 1}, Members{1}); }, kInvalid, {"rise"});
  expect_error([&] { jaccard(Members{1}, Members{1, 1}); }, kInvalid, {"rise"});
  Random random(2);
  for (int round = 0; round < 100; ++round) {
    const Members a = some_members(random);
    const Members b = some_members(random);
    Members both;
    Members either;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(either));
    const double want = either.empty() ? 0
                                       : static_cast<double>(either.size() - both.size()) /
                                             static_cast<double>(either.size());
    ASSERT_EQ(jaccard(a, b), want);
  }
  expect_metric<Members>(jaccard, [](Random& numbers) { return some_members(numbers); });
}

TEST(AngularDistance, IsTheAngle) {
  const AngularDistance angular;
  constexpr double kPi = std::numbers::pi;
  EXPECT_DOUBLE_EQ(angular(Numbers{1, 0}, Numbers{0, 5}), kPi / 2);
  EXPECT_DOUBLE_EQ(angular(Numbers{1, 1}, Numbers{-2, -2}), kPi);
  EXPECT_NEAR(angular(Numbers{1, 0}, Numbers{1, 1e-9}), 1e-9, 1e-20);  // a cosine would say 0
  EXPECT_EQ(angular(Numbers{0, 0}, Numbers{0, 0}), 0);
  EXPECT_EQ(angular(Numbers{0, 0}, Numbers{3, 0}), kPi / 2);
  // Of numbers whose squares are too large, or too small.
  for (const double size : {5e-324, 1e-200, 1e-150, 1e150, 1e200, 1e308}) {
    EXPECT_DOUBLE_EQ(angular(Numbers{size, 0}, Numbers{0, 1}), kPi / 2) << size;
    EXPECT_DOUBLE_EQ(angular(Numbers{size, size}, Numbers{3, 0}), kPi / 4) << size;
    EXPECT_DOUBLE_EQ(angular(Numbers{size, size}, Numbers{-size, -size}), kPi) << size;
  }
  EXPECT_TRUE(std::isnan(angular(Numbers{NAN, 1}, Numbers{1, 1})));
  expect_error([&] { angular(Numbers{1}, Numbers{1, 2}); }, kInvalid, {"1", "2"});
  expect_metric<Numbers>(angular, [](Random& random) { return some_numbers(random, 4); });
}

TEST(LpDistance, IsTheRoot) {
  EXPECT_DOUBLE_EQ(LpDistance(2)(Numbers{0, 3}, Numbers{4, 0}), 5);
  EXPECT_DOUBLE_EQ(LpDistance(1)(Numbers{0, 3}, Numbers{4, 0}), 7);
  EXPECT_EQ(LpDistance(INFINITY)(Numbers{0, 3}, Numbers{4, 0}), 4);
  EXPECT_NEAR(LpDistance(3)(Numbers{0, 3}, Numbers{4, 0}), std::cbrt(27 + 64), 1e-14);
  EXPECT_EQ(LpDistance(9)(Numbers{1e200}, Numbers{-1e200}), 2e200);  // no overflow
  for (const double p : {1.0, 1.5, 2.0, static_cast<double>(INFINITY)}) {
    EXPECT_TRUE(std::isnan(LpDistance(p)(Numbers{NAN}, Numbers{0}))) << p;
    EXPECT_TRUE(std::isnan(LpDistance(p)(Numbers{1, NAN, 7}, Numbers{0, 0, 0}))) << p;
  }
  expect_error([] { LpDistance(0.5); }, kInvalid, {"0.5"});
  expect_error([] { LpDistance(NAN); }, kInvalid, {"nan"});
  EXPECT_EQ(object_metric("lp:1.5")->name(), "lp:1.5");
  for (const double p : {1.0, 1.5, 2.0, 7.0}) {
    expect_metric<Numbers>(LpDistance(p), [](Random& random) { return some_numbers(random, 3); });
  }
}

// Bits are those of power.h, not those of a C library.
TEST(LpDistance, TakesPowersOfTheMetrics) {
  Random random(6);
  for (const double p : {1.1, 1.5, 2.5, 3.0, 7.3, 1000.0}) {
    const MetricSpec lp = nearfield::lp(p);
    for (int round = 0; round < 100; ++round) {
      const double part = random.uniform();
      EXPECT_EQ(LpDistance(p)(Numbers{4, 0}, Numbers{0, 4 * part}),
                4 * reported_value(lp, 1 + key_of(lp, part)));
    }
  }
  for (const double p : {1'000.5, 1e6, 1e12, 1e30, 1e305}) {
    EXPECT_EQ(LpDistance(p)(Numbers{5}, Numbers{-2}), 7) << p;
    EXPECT_NEAR(LpDistance(p)(Numbers{0, 3, 3}, Numbers{0, 0, 1}), 3, 1e-12) << p;
  }
}

TEST(HausdorffDistance, OfPoints) {
  const HausdorffDistance hausdorff(2);
  EXPECT_EQ(hausdorff(Numbers{0, 0, 1, 0}, Numbers{0, 0}), 1);
  EXPECT_EQ(hausdorff(Numbers{0, 0}, Numbers{0, 0, 0, 7, 3, 0}), 7);
  expect_error([&] { hausdorff(Numbers{}, Numbers{0, 0}); }, kInvalid, {"0", "2"});
  expect_error([&] { hausdorff(Numbers{1, 2, 3}, Numbers{0, 0}); }, kInvalid, {"3", "2"});
  expect_metric<Numbers>(
      hausdorff, [](Random& random) { return some_numbers(random, 2 * (1 + random.below(5))); });
}

Numbers places_apart(std::int64_t bins) {
  Numbers ground;
  for (std::int64_t a = 0; a < bins; ++a) {
    for (std::int64_t b = 0; b < bins; ++b) ground.push_back(static_cast<double>(std::abs(a - b)));
  }
  return ground;
}

Numbers some_histogram(Random& random, std::int64_t bins) {
  Numbers masses;
  for (std::int64_t i = 0; i < bins; ++i) masses.push_back(static_cast<double>(random.below(5)));
  masses.front() += 1;
  const double sum = std::accumulate(masses.begin(), masses.end(), 0.0);
  for (double& mass : masses) mass /= sum;
  return masses;
}

// On a line the work is what crosses each border.
TEST(EarthMoversDistance, OnALineIsTheDifferenceOfSums) {
  const EarthMoversDistance earth(places_apart(9));
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const Numbers a = some_histogram(random, 9);
    const Numbers b = some_histogram(random, 9);
    double crossing = 0;
    double work = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      crossing += a[i] - b[i];
      work += std::abs(crossing);
    }
    ASSERT_NEAR(earth(a, b), work, 1e-12);
  }
}

// Of one unit in each of n bins to each of n others, it is the best assignment.
TEST(EarthMoversDistance, OfUnitsIsTheBestAssignment) {
  Random random(4);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t units = 1 + random.below(5);
    const std::int64_t bins = 2 * units;
    std::vector<Numbers> points;
    for (std::int64_t i = 0; i < bins; ++i) points.push_back(some_numbers(random, 2));
    Numbers ground;
    for (const Numbers& a : points) {
      for (const Numbers& b : points) ground.push_back(LpDistance(2)(a, b));
    }
    Numbers a(static_cast<std::size_t>(bins));
    Numbers b = a;
    std::fill(a.begin(), a.begin() + units, 1);
    std::fill(b.begin() + units, b.end(), 1);
    std::vector<std::int64_t> order(static_cast<std::size_t>(units));
    std::iota(order.begin(), order.end(), 0);
    double best = INFINITY;
    do {
      double work = 0;
      for (std::int64_t i = 0; i < units; ++i) {
        work +=
            ground[static_cast<std::size_t>(i * bins + units + order[static_cast<std::size_t>(i)])];
      }
      best = std::min(best, work);
    } while (std::next_permutation(order.begin(), order.end()));
    ASSERT_NEAR(EarthMoversDistance(ground)(a, b), best, 1e-12);
  }
}

TEST(EarthMoversDistance, IsAMetricOfEqualMasses) {
  const EarthMoversDistance earth(places_apart(6));
  expect_metric<Numbers>(earth, [](Random& random) { return some_histogram(random, 6); });
  expect_error(
      [&] {
        earth(Numbers{1, 0, 0, 0, 0, 0}, Numbers{2, 0, 0, 0, 0, 0});
      },
      kInvalid, {"1", "2", "divide"});
  expect_error([&] { earth(Numbers{1}, Numbers{1}); }, kInvalid, {"1", "6"});
  expect_error([] { EarthMoversDistance({0, 1, 2}); }, kInvalid, {"3"});
  expect_error([] { EarthMoversDistance({0, 1, 2, 0}); }, kInvalid, {"1", "2"});
}

// Steps of little mass add up.
TEST(EarthMoversDistance, LittleMassIsMovedToo) {
  const EarthMoversDistance earth({0, 1, 1, 0});
  const auto moved = [](double mass) { return Numbers{0.5 + mass, 0.5 - mass}; };
  EXPECT_NEAR(earth(moved(0), moved(2e-10)), 2e-10, 1e-15);
  EXPECT_NEAR(earth(moved(0), moved(4e-10)), 4e-10, 1e-15);
  EXPECT_LE(earth(moved(0), moved(4e-10)),
            earth(moved(0), moved(2e-10)) + earth(moved(2e-10), moved(4e-10)) + 1e-15);
  // Sums that differ by rounding: what has nowhere to go stays.
  EXPECT_NEAR(earth(Numbers{1 + 1e-10, 0}, Numbers{0, 1}), 1, 1e-9);
}

TEST(QuadraticFormDistance, IsTheForm) {
  const Numbers matrix{2, 1, 0, 1, 3, 1, 0, 1, 2};
  const QuadraticFormDistance form(matrix);
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    const Numbers a = some_numbers(random, 3);
    const Numbers b = some_numbers(random, 3);
    double square = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        square += (a[i] - b[i]) * matrix[3 * i + j] * (a[j] - b[j]);
      }
    }
    ASSERT_NEAR(form(a, b), std::sqrt(square), 1e-12);
  }
  expect_metric<Numbers>(form, [](Random& numbers) { return some_numbers(numbers, 3); });
  expect_error([] { QuadraticFormDistance(Numbers{1, 2, 2, 1}); }, kInvalid, {"positive definite"});
  expect_error([] { QuadraticFormDistance(Numbers{1, 2, 0, 9}); }, kInvalid, {"symmetric"});
  expect_error([] { QuadraticFormDistance(Numbers{1, 2, 0}); }, kInvalid, {"3", "square"});
  expect_error([&] { form(Numbers{1}, Numbers{2}); }, kInvalid, {"3", "1"});
}

// Files are opened by name: two of different numbers have different ones.
TEST(ObjectMetrics, NamesAreOfTheNumbers) {
  EXPECT_EQ(EarthMoversDistance(places_apart(3)).name, EarthMoversDistance(places_apart(3)).name);
  EXPECT_NE(EarthMoversDistance({0, 1, 1, 0}).name, EarthMoversDistance({0, 2, 2, 0}).name);
  const auto form = [](double corner) {
    return QuadraticFormDistance(Numbers{2, 0.5, 0.5, corner}).name;
  };
  EXPECT_EQ(form(3), form(3));
  EXPECT_NE(form(3), form(4));
  EXPECT_TRUE(form(3).starts_with("quadratic form:2:")) << form(3);
  EXPECT_EQ(SignatureQuadraticFormDistance(2, 0.5).name, "signature quadratic form:2:0.5");
}

TEST(SignatureQuadraticFormDistance, OfWeightedPoints) {
  const SignatureQuadraticFormDistance form(2, 0.5);
  const Numbers one{0.4, 1, 2, 0.6, 0, 0};
  EXPECT_EQ(form(one, one), 0);
  // Two signatures of a point each: w^2 + v^2 - 2 w v exp(-alpha d^2).
  EXPECT_NEAR(form(Numbers{1, 0, 0}, Numbers{2, 1, 0}), std::sqrt(1 + 4 - 4 * std::exp(-0.5)),
              1e-14);
  expect_error([&] { form(Numbers{1, 2}, one); }, kInvalid, {"2", "3"});
  expect_error([] { SignatureQuadraticFormDistance(0, 1); }, kInvalid, {"0"});
  expect_metric<Numbers>(form, [](Random& random) {
    Numbers rows;
    for (std::int64_t i = 1 + random.below(4); i > 0; --i) {
      rows.push_back(random.uniform());
      rows.push_back(random.normal());
      rows.push_back(random.normal());
    }
    return rows;
  });
}

TEST(ObjectMetrics, ByName) {
  for (const char* const name : {"edit", "damerau", "jaccard", "angular", "lp:3", "hausdorff:2"}) {
    EXPECT_EQ(object_metric(name)->name(), name);
  }
  expect_error([] { object_metric("lp"); }, kInvalid, {"lp", "lp:2"});
  expect_error([] { object_metric("lp:x"); }, kInvalid, {"'x'"});
  expect_error([] { object_metric("hausdorff:2.7"); }, kInvalid, {"2.7", "whole"});
  expect_error([] { object_metric("hausdorff:nan"); }, kInvalid, {"nan", "whole"});
  expect_error([] { object_metric("hausdorff:1e30"); }, kInvalid, {"1e+30", "whole"});
  expect_error([] { object_metric("hausdorff:0"); }, kInvalid, {"1 number", "0"});
  expect_error([] { object_metric("angular:2"); }, kInvalid, {"angular:2", "hausdorff:D"});
}

}  // namespace
}  // namespace nearfield
