// Bounds by pivots: the kernels against their definition, and never above the distance.
#include "index/pivot/pivot_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <nearfield/pivot_index.hpp>

#include "core/random.hpp"
#include "index/pivot/choose_pivots.hpp"

namespace nearfield {
namespace {

using Point = std::vector<double>;

struct Euclidean {
  double operator()(std::span<const double> a, std::span<const double> b) const {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
  }
};

// Some distances are above the last bucket.
struct WholeLine {
  static constexpr bool whole_numbers = true;
  double operator()(std::span<const double> a, std::span<const double> b) const {
    return std::abs(a[0] - b[0]);
  }
};

Point some_point(Random& random, bool whole) {
  Point point(3);
  for (double& value : point) {
    value = whole ? static_cast<double>(random.below(400)) : random.normal();
  }
  return point;
}

struct Points {
  Points(const ObjectMetric& metric, std::int64_t count, bool whole, std::uint64_t seed)
      : list(metric) {
    Random random(seed);
    for (std::int64_t i = 0; i < count; ++i) {
      points.push_back(some_point(random, whole));
      list.append(ObjectBytes<Point>::bytes(points.back()));
    }
  }
  std::vector<Point> points;
  ObjectList list;
};

struct TableCase {
  std::int64_t pool;
  std::int64_t kept;
  int bits;
};

// The level of every row is at most its distance in units, and on every ISA the same.
void expect_bounds(const ObjectMetric& metric, bool whole, const TableCase& asked) {
  SCOPED_TRACE(fmt::format("{} pivots, {} kept, {} bits", asked.pool, asked.kept, asked.bits));
  const Points all(metric, 203, whole, 1);
  std::vector<std::int64_t> rows(all.points.size());
  std::iota(rows.begin(), rows.end(), 0);
  const Context context;
  Monitor monitor(context, 1);
  const PivotOptions options{.bits = asked.bits};
  const ChosenPivots chosen =
      choose_pivots(metric, all.list, rows, asked.pool, options, 0, default_isa(), monitor);
  ASSERT_EQ(std::ssize(chosen.rows), asked.pool);
  ObjectList pivots(metric);
  for (const std::int64_t row : chosen.rows) pivots.append(all.list.view(row));
  const PivotScale scale = pivot_scale(metric, chosen.largest, asked.bits, false);
  PivotTable table(metric, std::move(pivots), asked.kept, scale);
  table.append(all.list, default_isa(), 2, monitor);

  Random random(2);
  std::int64_t positive = 0;
  for (int round = 0; round < 20; ++round) {
    const Point query = some_point(random, whole);
    const PivotReach reach =
        table.reach_of(ObjectBytes<Point>::bytes(query), default_isa(), monitor);
    std::vector<std::uint8_t> first;
    for (const Isa isa : available_isas()) {
      std::vector<std::uint8_t> levels(256, 0);
      table.raise_levels(reach, asked.kept, {0, 203}, bound_kernels(isa), levels.data());
      levels.resize(203);
      if (first.empty()) first = levels;
      ASSERT_EQ(levels, first) << to_string(isa);
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      double distance = 0;
      const ObjectView to = all.list.view(static_cast<std::int64_t>(i));
      metric.distances(ObjectBytes<Point>::bytes(query), std::span(&to, 1), INFINITY, default_isa(),
                       std::span(&distance, 1));
      ASSERT_LE(first[i], scale.highest_level(distance)) << i;
      positive += first[i] > 0;
    }
  }
  EXPECT_TRUE(asked.bits < 4 || positive > 1'000);
}

constexpr TableCase kTables[] = {{1, 1, 8},  {8, 8, 8}, {16, 5, 8}, {17, 4, 8}, {40, 40, 8},
                                 {50, 6, 8}, {8, 8, 4}, {20, 3, 4}, {5, 5, 1},  {12, 2, 2}};

TEST(PivotTable, BoundsAreBelowDistances) {
  const TypedMetric<Point, Euclidean> floats{{}};
  const TypedMetric<Point, WholeLine> whole{{}};
  for (const TableCase& table : kTables) {
    expect_bounds(floats, false, table);
    expect_bounds(whole, true, table);
  }
}

// Triangles that are broken by all of the slack that check_metric allows, on one side or on the
// other.
TEST(PivotScale, BoundsHoldWhereAllSlackIsTaken) {
  Random random(5);
  for (const double slack : {0.0, 0x1p-40, 1e-6, 1e-2, 0.2, 0.6}) {
    for (const double unit : {1.0, 0.3, 1e-7}) {
      const PivotScale scale{.unit = unit, .slack = slack};
      const double kept = (1 - slack) / (1 + slack);
      std::int64_t positive = 0;
      for (int round = 0; round < 5'000; ++round) {
        const double to_pivot = unit * 300 * random.uniform() * (round % 3 == 0 ? 0.01 : 1);
        const double from_pivot = unit * 255.9 * random.uniform();
        const int bucket = scale.bucket(from_pivot);
        PivotReach reach;
        scale.reach(to_pivot, 0, reach);
        const int level = std::max({bucket - reach.above[0], reach.below[0] - bucket, 0});
        const double least =
            std::max({from_pivot * kept - to_pivot, to_pivot * kept - from_pivot, 0.0});
        ASSERT_LE(level, scale.highest_level(least)) << slack << " " << to_pivot << " " << bucket;
        ASSERT_GE(scale.most_distance(to_pivot, static_cast<std::uint8_t>(bucket)),
                  (to_pivot + from_pivot) / kept * (1 - 1e-15));
        positive += level > 0;
      }
      EXPECT_TRUE(positive > 1'000 || slack > 0.1) << slack;
    }
  }
}

TEST(PivotTable, KeepsNearestAndFarthestInTurn) {
  const TypedMetric<Point, WholeLine> metric{{}};
  ObjectList pivots(metric);
  for (const double at : {0.0, 10.0, 20.0, 30.0, 40.0}) {
    pivots.append(ObjectBytes<Point>::bytes(Point{at}));
  }
  PivotTable table(metric, std::move(pivots), 4, pivot_scale(metric, 100, 8, false));
  ObjectList objects(metric);
  objects.append(ObjectBytes<Point>::bytes(Point{12}));
  const Context context;
  Monitor monitor(context, 1);
  table.append(objects, default_isa(), 1, monitor);
  std::vector<int> kept;
  for (int slot = 0; slot < 8; ++slot) kept.push_back(table.blocks().block_of(0)[slot * 64]);
  // Distances are 12, 2, 8, 18, 28: the nearest, the farthest, the second nearest, ...
  EXPECT_EQ(kept, (std::vector<int>{2, 1, 28, 4, 8, 2, 18, 3}));
}

TEST(ChoosePivots, AreDifferentObjectsAndTheSameForASeed) {
  const TypedMetric<Point, Euclidean> metric{{}};
  const Points all(metric, 300, false, 3);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < 300; row += 2) rows.push_back(row);
  const Context context;
  const Monitor monitor(context, 1);
  for (const auto choice :
       {PivotChoice::random, PivotChoice::max_separation, PivotChoice::incremental}) {
    const PivotOptions options{.choice = choice, .choice_budget = 5'000};
    const auto choose = [&](std::uint64_t seed) {
      return choose_pivots(metric, all.list, rows, 12, options, seed, default_isa(), monitor);
    };
    const ChosenPivots chosen = choose(7);
    EXPECT_EQ(chosen.rows, choose(7).rows);
    EXPECT_NE(chosen.rows, choose(8).rows);
    EXPECT_LE(chosen.distances, 5'000);
    std::vector<std::int64_t> sorted = chosen.rows;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::ssize(sorted), 12);
    EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
    for (const std::int64_t row : sorted) EXPECT_EQ(row % 2, 0);
  }
}

// Of 12 pivots, max_separation wants 144 distances at least, and incremental 48.
TEST(ChoosePivots, KeepToTheBudget) {
  const TypedMetric<Point, Euclidean> metric{{}};
  const Points all(metric, 300, false, 4);
  std::vector<std::int64_t> rows(300);
  std::iota(rows.begin(), rows.end(), 0);
  const Context context;
  const Monitor monitor(context, 1);
  for (const auto choice :
       {PivotChoice::random, PivotChoice::max_separation, PivotChoice::incremental}) {
    for (const std::int64_t budget : {0, 1, 13, 30, 47, 48, 100, 143, 144, 200, 1'000}) {
      const PivotOptions options{.choice = choice, .choice_budget = budget};
      const ChosenPivots chosen =
          choose_pivots(metric, all.list, rows, 12, options, 0, default_isa(), monitor);
      EXPECT_LE(chosen.distances, budget) << static_cast<int>(choice);
      EXPECT_TRUE(chosen.largest > 0 || budget <= 12) << budget;  // of 12, one is that to itself
      std::vector<std::int64_t> sorted = chosen.rows;
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(std::ssize(sorted), 12) << budget;
      EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end()) << budget;
    }
  }
}

// As far as the budget reaches, each is the farthest from those before it.
TEST(ChoosePivots, ASmallBudgetSeparatesTheFirstOfThem) {
  const TypedMetric<Point, WholeLine> metric{{}};
  ObjectList objects(metric);
  std::vector<std::int64_t> rows;
  for (int i = 0; i < 10; ++i) {
    objects.append(ObjectBytes<Point>::bytes(Point{static_cast<double>(i)}));
    rows.push_back(i);
  }
  const Context context;
  const Monitor monitor(context, 1);
  const PivotOptions options{.choice_budget = 20};  // two rounds of ten
  const ChosenPivots chosen =
      choose_pivots(metric, objects, rows, 10, options, 0, default_isa(), monitor);
  ASSERT_EQ(std::ssize(chosen.rows), 10);
  EXPECT_EQ(chosen.distances, 20);
  EXPECT_TRUE(chosen.rows[1] == 0 || chosen.rows[1] == 9);
}

// Of points on a line, the ends are farthest apart.
TEST(ChoosePivots, SeparatesAsFarAsItCan) {
  const TypedMetric<Point, WholeLine> metric{{}};
  ObjectList objects(metric);
  std::vector<std::int64_t> rows;
  for (int i = 0; i <= 100; ++i) {
    objects.append(ObjectBytes<Point>::bytes(Point{static_cast<double>(i)}));
    rows.push_back(i);
  }
  const Context context;
  const Monitor monitor(context, 1);
  const ChosenPivots chosen =
      choose_pivots(metric, objects, rows, 3, {}, 0, default_isa(), monitor);
  ASSERT_EQ(std::ssize(chosen.rows), 3);
  EXPECT_TRUE(chosen.rows[1] == 0 || chosen.rows[1] == 100);
}

}  // namespace
}  // namespace nearfield
