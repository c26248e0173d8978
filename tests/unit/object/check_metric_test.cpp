#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/object_metrics.hpp>
#include <nearfield/pivot_index.hpp>

#include "core/random.hpp"
#include "tests/oracle/texts.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

std::vector<double> some_numbers() {
  Random random(1);
  std::vector<double> numbers;
  for (int i = 0; i < 50; ++i) numbers.push_back(random.normal());
  return numbers;
}

MetricReport checked(auto metric) { return check_metric<double>(metric, some_numbers(), 2'000); }

TEST(CheckMetric, FindsNothingInMetrics) {
  EXPECT_TRUE(checked([](double a, double b) { return std::abs(a - b); }).holds());
  Random random(2);
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back(test::some_text(random, 8));
  for (const ObjectMetricInfo& info : object_metrics()) {
    if (info.input != ObjectInput::text) continue;
    std::vector<ObjectView> views;
    for (const std::string& text : texts) views.push_back(ObjectBytes<std::string>::bytes(text));
    const MetricReport report = check_metric(*object_metric(info.name), views, 3'000);
    EXPECT_TRUE(report.holds()) << info.name << ": " << to_string(report);
    EXPECT_EQ(report.triples, 3'000);
    EXPECT_EQ(to_string(report), "a metric on 3000 triples");
  }
}

TEST(CheckMetric, FindsABrokenTriangle) {
  const auto square = [](double a, double b) { return (a - b) * (a - b); };
  const MetricReport report = checked(square);
  ASSERT_FALSE(report.holds());
  EXPECT_EQ(report.identity.by, 0);
  EXPECT_EQ(report.symmetry.by, 0);
  const std::vector<double> numbers = some_numbers();
  const auto [a, b, c] = report.triangle.objects;
  const auto at = [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; };
  EXPECT_EQ(report.triangle.by, square(at(a), at(c)) - square(at(a), at(b)) - square(at(b), at(c)));
  EXPECT_NE(to_string(report).find("more than by way of"), std::string::npos);
}

TEST(CheckMetric, FindsTheOtherViolations) {
  EXPECT_GT(checked([](double a, double b) { return 1 + std::abs(a - b); }).identity.by, 0);
  EXPECT_GT(checked([](double a, double b) { return std::max(a - b, 0.0); }).symmetry.by, 0);
  EXPECT_GT(checked([](double a, double b) { return a - b; }).not_a_distance.by, 0);
  EXPECT_EQ(checked([](double, double) {
              return std::numeric_limits<double>::quiet_NaN();
            }).not_a_distance.by,
            std::numeric_limits<double>::infinity());
}

// Sums in float break the triangle inequality by their rounding, and slack is for that.
struct FloatLine {
  double slack = 0;
  double operator()(double a, double b) const {
    return static_cast<float>(std::abs(static_cast<float>(a) - static_cast<float>(b)));
  }
};

TEST(CheckMetric, AllowsSlack) {
  EXPECT_FALSE(checked(FloatLine{0}).holds());
  EXPECT_TRUE(checked(FloatLine{1e-6}).holds());
}

// Bounds by whole numbers are not widened.
struct WholeSquare {
  static constexpr bool whole_numbers = true;
  static constexpr double slack = 1;
  double operator()(double a, double b) const {
    return (std::floor(a) - std::floor(b)) * (std::floor(a) - std::floor(b));
  }
};

TEST(CheckMetric, AllowsWholeNumbersNoSlack) { EXPECT_GT(checked(WholeSquare{}).triangle.by, 0); }

struct Line {
  double operator()(double a, double b) const { return std::abs(a - b); }
};

struct WholeLine : Line {
  static constexpr bool whole_numbers = true;
};

// Its bound is the distance, or that and a part of it.
struct BoundLine : Line {
  double part = 0;
  std::array<double, 1> signature(double a) const { return {a}; }
  double bound(const std::array<double, 1>& a, const std::array<double, 1>& b) const {
    return std::abs(a[0] - b[0]) * (1 + part);
  }
};

enum class GivesUp { rightly, early, below };

struct WithinLine : Line {
  GivesUp gives_up = GivesUp::rightly;
  double within(double a, double b, double limit) const {
    const double distance = std::abs(a - b);
    if (gives_up == GivesUp::early && distance > limit / 2) return limit + distance;
    if (distance <= limit) return distance;
    return gives_up == GivesUp::below ? limit : limit + 1;
  }
};

TEST(CheckMetric, FindsWhatAMetricSaysWronglyOfItself) {
  const auto expect_found = [](const MetricReport& report, const MetricReport::Violation& one,
                               std::string_view words) {
    EXPECT_GT(one.by, 0);
    EXPECT_FALSE(report.holds());
    EXPECT_NE(to_string(report).find(words), std::string::npos) << to_string(report);
  };
  const MetricReport whole = checked(WholeLine{});
  expect_found(whole, whole.whole_numbers, "whole_numbers");
  for (const double part : {1e-6, 0.5, 40.0}) {
    const MetricReport bound = checked(BoundLine{{}, part});
    expect_found(bound, bound.bound, "signatures");
  }
  const MetricReport early = checked(WithinLine{{}, GivesUp::early});
  expect_found(early, early.limit, "limit");
  const MetricReport below = checked(WithinLine{{}, GivesUp::below});
  expect_found(below, below.limit, "limit");

  for (const double part : {-0.5, 0.0}) EXPECT_TRUE(checked(BoundLine{{}, part}).holds());
  EXPECT_TRUE(checked(WithinLine{}).holds());
}

TEST(CheckMetric, OfNothing) {
  EXPECT_TRUE(check_metric(*object_metric("edit"), {}).holds());
  test::expect_error([] { check_metric(*object_metric("edit"), {}, -1); },
                     ErrorCode::invalid_argument, {"-1"});
  test::expect_error([] { object_metric("edits"); }, ErrorCode::invalid_argument,
                     {"'edits'", "edit", "damerau"});
}

}  // namespace
}  // namespace nearfield
