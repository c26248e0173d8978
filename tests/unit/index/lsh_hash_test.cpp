// Hash functions: how often near vectors share a key, against theory, and which keys are probed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.hpp"
#include "index/lsh/lsh_fit.hpp"
#include "index/lsh/lsh_functions.hpp"
#include "index/lsh/lsh_probes.hpp"
#include "index/lsh/row_marks.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kCols = 128;
constexpr std::int64_t kTrials = kMostLshTables;

Matrix normal_rows(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix matrix(DType::f32, rows, cols);
  Random random(seed);
  for (std::int64_t i = 0; i < rows; ++i) {
    auto* const row = reinterpret_cast<float*>(matrix.row(i));
    for (std::int64_t j = 0; j < cols; ++j) row[j] = static_cast<float>(random.normal());
  }
  return matrix;
}

std::vector<double> unit_vector(Random& random) {
  std::vector<double> values(kCols);
  double square = 0;
  for (double& value : values) {
    value = random.normal();
    square += value * value;
  }
  for (double& value : values) value /= std::sqrt(square);
  return values;
}

// The second is at an angle to the first.
Matrix at_angle(double angle, std::uint64_t seed) {
  Random random(seed);
  const std::vector<double> first = unit_vector(random);
  std::vector<double> other = unit_vector(random);
  double dot = 0;
  for (std::size_t i = 0; i < first.size(); ++i) dot += first[i] * other[i];
  double square = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    other[i] -= dot * first[i];
    square += other[i] * other[i];
  }
  Matrix pair(DType::f64, 2, kCols);
  auto* const a = reinterpret_cast<double*>(pair.row(0));
  auto* const b = reinterpret_cast<double*>(pair.row(1));
  for (std::size_t i = 0; i < first.size(); ++i) {
    a[i] = first[i];
    b[i] = std::cos(angle) * first[i] + std::sin(angle) * other[i] / std::sqrt(square);
  }
  return pair;
}

// Of tables that are independent of each other.
std::int64_t collisions(const LshParameters& parameters, MatrixView like, MatrixView pair,
                        MetricSpec metric = Metric::sqeuclidean) {
  const Context context;
  const Monitor monitor(context, 1);
  const OwnLshFunctions functions =
      make_lsh_functions(parameters, metric, like, like.rows(), monitor);
  std::int64_t same = 0;
  for (std::int64_t table = 0; table < parameters.tables; ++table) {
    std::uint64_t keys[2];
    lsh_keys(pair, functions.view(), metric, table, 1, monitor, keys);
    same += keys[0] == keys[1] ? 1 : 0;
  }
  return same;
}

// 99.99 % of binomial draws are within 3.9 standard deviations; here 30 draws are looked at.
void expect_binomial(std::int64_t count, std::int64_t trials, double p) {
  const double mean = p * static_cast<double>(trials);
  const double deviation = std::sqrt(mean * (1 - p));
  EXPECT_NEAR(static_cast<double>(count), mean, 3.9 * deviation + 0.5) << "p " << p;
}

TEST(LshHash, SignsCollideAsOftenAsTheAngleSays) {
  const Matrix like = normal_rows(64, kCols, 1);
  for (const LshKind kind : {LshKind::sign, LshKind::gaussian}) {
    for (const int bits : {1, 4, 12}) {
      for (const double angle : {0.1, 0.4, 1.0, 1.5}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", " + std::to_string(bits) +
                     " bits at " + std::to_string(angle));
        const LshParameters parameters{.kind = kind, .bits = bits, .tables = kTrials, .seed = 7};
        const std::int64_t same = collisions(parameters, like, at_angle(angle, 3));
        expect_binomial(same, kTrials, std::pow(1 - angle / std::numbers::pi, bits));
      }
    }
  }
}

// floor((x.q + b) / w) of normal directions: a pair at distance c shares a cell of width w with
// probability 1 - 2 P(-w/c) - 2c / (sqrt(2 pi) w) (1 - exp(-w^2 / 2c^2)).
double cell_probability(double width, double distance) {
  const double ratio = width / distance;
  const double below = std::erfc(ratio / std::numbers::sqrt2) / 2;
  return 1 - 2 * below -
         2 / (std::sqrt(2 * std::numbers::pi) * ratio) * (1 - std::exp(-ratio * ratio / 2));
}

TEST(LshHash, CellsCollideAsOftenAsTheDistanceSays) {
  const Context context;
  const Monitor monitor(context, 1);
  const Matrix like = normal_rows(64, kCols, 2);
  const double deviation = LshSample(like, Metric::sqeuclidean, monitor).deviation();
  for (const int bits : {4, 12}) {
    for (const double distance : {0.2, 0.5, 1.0, 2.0}) {  // in widths
      SCOPED_TRACE(std::to_string(bits) + " bits at " + std::to_string(distance));
      const LshParameters parameters{
          .kind = LshKind::floor, .bits = bits, .tables = kTrials, .width = 50, .seed = 11};
      const double width = deviation / 2;
      Matrix pair = at_angle(std::numbers::pi / 3, 4);  // at distance 1
      for (std::int64_t i = 0; i < 2 * kCols; ++i) {
        reinterpret_cast<double*>(pair.row(0))[i] *= distance * width;
      }
      const std::int64_t same = collisions(parameters, like, pair);
      expect_binomial(same, kTrials, std::pow(cell_probability(width, distance * width), bits / 4));
    }
  }
}

TEST(LshHash, TheLengthOfAVectorDoesNotMatterUnderCosine) {
  const Matrix like = normal_rows(2'000, kCols, 2);
  Matrix pair = at_angle(0, 5);
  for (std::int64_t i = 0; i < kCols; ++i) reinterpret_cast<double*>(pair.row(1))[i] *= 1024;
  for (const LshKind kind : {LshKind::floor, LshKind::e8, LshKind::learned}) {
    const LshParameters parameters{.kind = kind, .bits = 32, .tables = 20};
    EXPECT_EQ(collisions(parameters, like, pair, Metric::cosine), 20);
    EXPECT_LT(collisions(parameters, like, pair, Metric::sqeuclidean), 10);
  }
}

TEST(LshHash, LatticePointsShareTheirCellWithWhatIsNear) {
  const Matrix like = normal_rows(500, kCols, 2);
  std::int64_t before = kTrials;
  for (const double angle : {0.0, 0.05, 0.2, 0.6}) {
    Matrix pair = at_angle(angle, 6);
    for (std::int64_t i = 0; i < 2 * kCols; ++i) {
      reinterpret_cast<double*>(pair.row(0))[i] *= std::sqrt(static_cast<double>(kCols));
    }
    const LshParameters parameters{.kind = LshKind::e8, .bits = 32, .tables = kTrials};
    const std::int64_t same = collisions(parameters, like, pair);
    EXPECT_TRUE(angle == 0 ? same == kTrials : same < before) << same;
    before = same;
  }
  EXPECT_LT(before, kTrials / 20);
}

// Of a lattice the nearest neighbours of a point are the borders of its cell: none of them may be
// nearer.
TEST(LshHash, NoNeighbourOfALatticePointIsNearer) {
  const LshHash& hash = lsh_hash({LshKind::e8, 32, 1});
  Random random(8);
  const std::vector<double> levels(8);
  for (int i = 0; i < 2'000; ++i) {
    std::vector<double> at(8);
    for (double& value : at) value = 6 * random.normal();
    std::vector<ProbeStep> steps;
    hash.add_steps(at, levels, steps);
    ASSERT_EQ(steps.size(), 240U);
    std::set<std::uint64_t> changes;
    for (const ProbeStep& step : steps) {
      EXPECT_GE(step.cost, -1e-9);
      changes.insert(step.change);
    }
    EXPECT_EQ(changes.size(), 240U);  // no two of them share a key
    EXPECT_FALSE(changes.contains(0));
  }
}

TEST(LshHash, TwoBitsOfAProjectionAreItsQuarter) {
  const LshHash& hash = lsh_hash({LshKind::gaussian, 4, 2});
  const std::vector<double> levels{-1, 0, 1, 10, 20, 30};
  const auto key = [&](double a, double b) { return hash.key(std::vector{a, b}, levels); };
  EXPECT_EQ(key(-5, 0), 0U);
  EXPECT_EQ(key(-0.5, 15), 0b0101U);
  EXPECT_EQ(key(0.5, 25), 0b1010U);
  EXPECT_EQ(key(2, 99), 0b1111U);
  std::vector<ProbeStep> steps;
  hash.add_steps(std::vector{0.25, 12.0}, levels, steps);
  ASSERT_EQ(steps.size(), 4U);  // down and up, of both
  const std::uint64_t own = key(0.25, 12);
  EXPECT_EQ(own ^ steps[0].change, key(-0.25, 12));
  EXPECT_DOUBLE_EQ(steps[0].cost, 0.25 * 0.25);
  EXPECT_EQ(own ^ steps[3].change, key(0.25, 21));
  EXPECT_DOUBLE_EQ(steps[3].cost, 64);
}

TEST(LshHash, NumbersThatAreNotFiniteHaveAKeyToo) {
  const double huge = 1e300;
  for (const LshKind kind : {LshKind::gaussian, LshKind::floor, LshKind::e8}) {
    const LshHash& hash = lsh_hash({kind, 32, 1});
    for (const double value : {huge, -huge, huge * huge, std::nan("")}) {
      const std::vector<double> projections(32, value);
      const std::vector<double> levels(32, 0.5);
      std::vector<ProbeStep> steps;
      const auto some = std::span(projections).first(kind == LshKind::gaussian ? 32 : 8);
      EXPECT_LT(hash.key(some, levels), std::uint64_t{1} << 32);
      hash.add_steps(some, levels, steps);
      for (const ProbeStep& step : steps) EXPECT_TRUE(std::isfinite(step.cost));
    }
  }
}

TEST(LshHash, LearnedPlanesHalveTheRowsWhereTheyDifferMost) {
  const Context context;
  const Monitor monitor(context, 1);
  // Far from the origin, and wide in the first columns.
  Matrix rows = normal_rows(4'000, 32, 9);
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    auto* const row = reinterpret_cast<float*>(rows.row(i));
    for (std::int64_t j = 0; j < 32; ++j) row[j] = 50 + row[j] * (j < 12 ? 10.0F : 0.5F);
  }
  const OwnLshFunctions functions =
      make_lsh_functions({.bits = 12, .tables = 3}, Metric::sqeuclidean, rows, 4'000, monitor);
  std::vector<std::uint64_t> keys(4'000);
  for (std::int64_t table = 0; table < 3; ++table) {
    lsh_keys(rows, functions.view(), Metric::sqeuclidean, table, 2, monitor, keys.data());
    for (int bit = 0; bit < 12; ++bit) {
      const auto set =
          std::ranges::count_if(keys, [&](std::uint64_t key) { return (key >> bit & 1) != 0; });
      EXPECT_NEAR(static_cast<double>(set), 2'000, 300) << bit;
    }
    // As many buckets as 12 bits that tell different things.
    const std::set<std::uint64_t> different(keys.begin(), keys.end());
    EXPECT_GT(different.size(), 2'000U);
  }
  for (std::int64_t i = 0; i < functions.directions.rows(); ++i) {
    const auto* const direction = reinterpret_cast<const float*>(functions.directions.row(i));
    double wide = 0;
    for (int j = 0; j < 12; ++j) wide += direction[j] * direction[j];
    EXPECT_GT(wide, 0.9) << i;
  }
}

TEST(LshHash, RowsThatAreAllTheSameAreHashed) {
  const Context context;
  const Monitor monitor(context, 1);
  const Matrix same(DType::f32, 100, 5);
  for (const LshKind kind : {LshKind::learned, LshKind::floor, LshKind::e8}) {
    const OwnLshFunctions functions = make_lsh_functions({.kind = kind, .bits = 32, .tables = 2},
                                                         Metric::cosine, same, 100, monitor);
    for (std::int64_t i = 0; i < functions.directions.rows(); ++i) {
      EXPECT_TRUE(std::isfinite(reinterpret_cast<const float*>(functions.directions.row(i))[0]));
    }
  }
}

TEST(LshProbes, AreAllSetsOfStepsInTheOrderOfTheirCost) {
  Random random(10);
  constexpr int kBits = 6;
  std::vector<double> off(kBits);
  for (double& value : off) value = random.normal();
  const std::vector<double> levels(kBits);
  const LshHash& hash = lsh_hash({LshKind::sign, kBits, 1});
  std::vector<ProbeStep> steps;
  hash.add_steps(off, levels, steps);
  const std::uint64_t own = hash.key(off, levels);
  std::vector<std::uint64_t> keys(64);
  LshProbes().find(own, steps, keys);
  EXPECT_EQ(keys[0], own);
  const auto cost = [&](std::uint64_t key) {
    double sum = 0;
    for (int bit = 0; bit < kBits; ++bit) {
      const auto i = static_cast<std::size_t>(bit);
      if ((key ^ own) >> bit & 1) sum += off[i] * off[i];
    }
    return sum;
  };
  for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_GE(cost(keys[i]), cost(keys[i - 1]));
  EXPECT_EQ(std::set<std::uint64_t>(keys.begin(), keys.end()).size(), 64U);
}

TEST(LshProbes, NeverTakeTwoStepsOfOneGroup) {
  // Of one group each step alone, and own again where there are no more.
  std::vector<ProbeStep> steps{{3, 0b01, 0}, {1, 0b10, 0}, {2, 0b11, 0}};
  std::vector<std::uint64_t> keys(6);
  LshProbes().find(0b100, steps, keys);
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{0b100, 0b110, 0b111, 0b101, 0b100, 0b100}));
  // A cell's lower and upper border exclude each other; two groups make 3 x 3 keys.
  steps = {{1, 0x1, 0}, {2, 0x2, 0}, {1.5, 0x10, 1}, {3, 0x20, 1}};
  keys.resize(9);
  LshProbes().find(0, steps, keys);
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{0, 0x1, 0x10, 0x2, 0x11, 0x20, 0x12, 0x21, 0x22}));
}

TEST(RowMarks, GiveEachRowOnceAndRising) {
  RowMarks marks(20'000);
  std::set<std::uint32_t> expected;
  Random random(12);
  for (int i = 0; i < 3'000; ++i) {
    const auto row = static_cast<std::uint32_t>(random.below(20'000));
    marks.add(row);
    expected.insert(row);
  }
  std::vector<std::uint32_t> found;
  std::vector<std::uint32_t> piece;
  for (const std::int64_t end : {5'000, 5'001, 20'000}) {
    for (bool all = false; !all;) {
      piece.clear();
      all = marks.take(end, 100, piece);
      EXPECT_LE(piece.size(), 100U);
      for (const std::uint32_t row : piece) EXPECT_LT(row, end);
      found.insert(found.end(), piece.begin(), piece.end());
    }
  }
  EXPECT_TRUE(std::ranges::equal(found, expected));
  EXPECT_TRUE(marks.take(20'000, 100, piece));
}

}  // namespace
}  // namespace nearfield
