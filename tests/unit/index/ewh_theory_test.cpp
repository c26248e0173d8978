// What chance promises of error-weighted hashing, and what is measured.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "core/random.hpp"
#include "index/ewh/ewh_choice.hpp"
#include "index/ewh/ewh_theory.hpp"
#include "tests/unit/index/bit_codes.hpp"
#include "tests/unit/index/ewh_shape.hpp"

namespace nearfield {
namespace {

using test::bit_at;
using test::bits_spec;
using test::ewh_shape;
using test::flip_some;
using test::near_codes;

double choose(std::int64_t of, std::int64_t count) {
  return count < 0 || count > of
             ? 0
             : std::round(std::exp(std::lgamma(static_cast<double>(of + 1)) -
                                   std::lgamma(static_cast<double>(count + 1)) -
                                   std::lgamma(static_cast<double>(of - count + 1))));
}

TEST(EwhTheory, ErrorsAreHypergeometric) {
  for (const auto& [cols, differing, bits] :
       {std::tuple{20, 7, 5}, {20, 0, 5}, {20, 20, 5}, {8, 3, 8}, {16, 1, 3}}) {
    const std::vector<double> chances = error_chances(cols, differing, bits, bits);
    for (int j = 0; j <= bits; ++j) {
      const double want =
          choose(differing, j) * choose(cols - differing, bits - j) / choose(cols, bits);
      EXPECT_NEAR(chances[static_cast<std::size_t>(j)], want, 1e-9) << cols << " " << j;
    }
  }
}

// 2 tables, whose every pair of results can be written down.
TEST(EwhTheory, ScoresAreSumsOfTables) {
  const EwhShape shape{.tables = 2, .bits = 3, .weights = {5, 2}, .threshold = 7};
  const std::vector<double> of_a_table{0.5, 0.3};
  const std::vector<double> chances = score_chances(shape, of_a_table);
  ASSERT_EQ(chances.size(), 11U);
  EXPECT_NEAR(chances[0], 0.04, 1e-12);
  EXPECT_NEAR(chances[2], 2 * 0.3 * 0.2, 1e-12);
  EXPECT_NEAR(chances[4], 0.09, 1e-12);
  EXPECT_NEAR(chances[5], 2 * 0.5 * 0.2, 1e-12);
  EXPECT_NEAR(chances[7], 2 * 0.5 * 0.3, 1e-12);
  EXPECT_NEAR(chances[10], 0.25, 1e-12);
  EXPECT_EQ(chance_found(shape, 64, 0), 1);
}

// Of rows that differ from a query in r random bits: how often a table's buckets differ in 0, 1, 2
// bits, and how often a search finds them. Both lie where theory has 99.99 % of such counts.
TEST(EwhTheory, HoldsForWhatIsMeasured) {
  constexpr std::int64_t kCols = 256;
  constexpr std::int64_t kRows = 40'000;
  const auto expect_share = [](std::int64_t count, double chance) {
    const double deviation = std::sqrt(static_cast<double>(kRows) * chance * (1 - chance));
    EXPECT_NEAR(static_cast<double>(count), static_cast<double>(kRows) * chance,
                3.9 * deviation + 1e-6);
  };
  for (const std::int64_t differing : {3, 26, 60}) {
    Random random(static_cast<std::uint64_t>(differing));
    Matrix rows(DType::bits, kRows, kCols);
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::fill_n(rows.row(row), kCols / 8, std::byte{0});
      flip_some(rows.row(row), kCols, differing, random);
    }
    const Matrix query = [] {
      Matrix zeros(DType::bits, 1, kCols);
      std::fill_n(zeros.row(0), kCols / 8, std::byte{0});
      return zeros;
    }();
    for (const std::string family : {"ewh,tables=4,bits=4", "ewh,tables=8,bits=14"}) {
      const EwhShape shape = ewh_shape(family, rows);
      const std::vector<std::uint32_t> positions = random_positions(shape, kCols, 0);
      const std::vector<double> chances =
          error_chances(kCols, differing, shape.bits, shape.errors());
      for (std::int64_t table = 0; table < shape.tables; ++table) {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(shape.bits) + 1);
        for (std::int64_t row = 0; row < kRows; ++row) {
          std::size_t errors = 0;
          for (int i = 0; i < shape.bits; ++i) {
            errors +=
                bit_at(rows.row(row), positions[static_cast<std::size_t>(table * shape.bits + i)])
                    ? 1
                    : 0;
          }
          ++counts[errors];
        }
        for (std::size_t error = 0; error < chances.size(); ++error) {
          SCOPED_TRACE(family + ", table " + std::to_string(table));
          expect_share(counts[error], chances[error]);
        }
      }
    }
  }
}

// The same of whole searches: over many choices of tables, since the tables of one index may share
// bits.
TEST(EwhTheory, HoldsForSearches) {
  constexpr std::int64_t kCols = 256;
  constexpr std::int64_t kRows = 2'048;
  constexpr std::int64_t kSeeds = 24;
  for (const std::int64_t differing : {20, 40}) {
    Random random(static_cast<std::uint64_t>(differing));
    Matrix rows(DType::bits, kRows, kCols);
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::fill_n(rows.row(row), kCols / 8, std::byte{0});
      flip_some(rows.row(row), kCols, differing, random);
    }
    Matrix query(DType::bits, 1, kCols);
    std::fill_n(query.row(0), kCols / 8, std::byte{0});
    double found = 0;
    double squares = 0;
    double chance = 0;
    for (std::int64_t seed = 0; seed < kSeeds; ++seed) {
      const std::string family =
          "ewh,tables=6,bits=12,weights=3:2:1,threshold=12,seed=" + std::to_string(seed);
      Index ewh(bits_spec(family, kCols));
      ewh.add(rows);
      const Ranges near = ewh.within(query, {.radius = static_cast<double>(differing)});
      chance = chance_found(ewh_shape(family, rows), kCols, differing);
      EXPECT_DOUBLE_EQ(near.stats.plan.expected_recall, chance);
      const double share = static_cast<double>(near.ids.size()) / kRows;
      found += share / kSeeds;
      squares += share * share / kSeeds;
    }
    EXPECT_GT(chance, 0.02);
    EXPECT_LT(chance, 0.98);
    const double error = std::sqrt(std::max(squares - found * found, 0.0) / (kSeeds - 1));
    EXPECT_NEAR(found, chance, 3.9 * error + 0.002);
  }
}

TEST(EwhChoice, FindsWhatIsAskedForAndSaysHowOften) {
  const Matrix rows = near_codes(8'192, 256, 8);
  const Context context;
  const Monitor monitor(context, 1);
  for (const std::int64_t near : {5, 25, 50}) {
    for (const double recall : {0.5, 0.9, 0.99}) {
      EwhParameters parameters = parse_ewh(bits_spec("ewh", 256));
      parameters.near = near;
      parameters.recall = recall;
      const EwhShape shape = choose_ewh(rows, 4'000'000, parameters, monitor);
      EXPECT_GE(chance_found(shape, 256, near), recall);
      EXPECT_LT(chance_found(shape, 256, 128), 0.05);
      EXPECT_LE(shape.most_score(), kMostEwhScore);
      EXPECT_TRUE(std::ranges::is_sorted(shape.weights, std::greater<>()));
      EXPECT_GE(shape.weights.back(), 1);
    }
  }
}

TEST(EwhChoice, TheThresholdIsTheLargestThatFindsEnough) {
  const Matrix rows = near_codes(4'096, 512, 9);
  EwhShape shape = ewh_shape("ewh,tables=4,bits=4,near=51,recall=0.9", rows);
  EXPECT_EQ(shape.tables, 4);
  EXPECT_EQ(shape.bits, 4);
  EXPECT_GE(chance_found(shape, 512, 51), 0.9);
  ++shape.threshold;
  EXPECT_LT(chance_found(shape, 512, 51), 0.9);
}

// Near rows that were planted are found as often as the plan expects, or more.
TEST(EwhChoice, NoRowsCostNothing) {
  const EwhShape shape{.tables = 2, .bits = 4, .weights = {1}};
  EXPECT_EQ(ewh_cost(shape, Matrix(DType::bits, 0, 64)), 0);
  EXPECT_GT(ewh_cost(shape, Matrix(DType::bits, 3, 64)), 0);
}

TEST(EwhChoice, PlantedRowsAreFound) {
  constexpr std::int64_t kQueries = 400;
  Matrix rows = near_codes(16'384, 256, 10);
  Matrix queries(DType::bits, kQueries, 256);
  Random random(11);
  for (std::int64_t i = 0; i < kQueries; ++i) {
    std::copy_n(rows.row(4 * i), 32, queries.row(i));
    flip_some(queries.row(i), 256, 25, random);
  }
  for (const std::string family : {"ewh", "ewh,tables=4,bits=4", "ewh,tables=6,bits=12"}) {
    Index ewh(bits_spec(family, 256));
    ewh.add(rows);
    const Ranges near = ewh.within(queries, {.radius = 25});
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < kQueries; ++i) {
      const auto begin = near.ids.begin() + near.offsets[static_cast<std::size_t>(i)];
      const auto end = near.ids.begin() + near.offsets[static_cast<std::size_t>(i) + 1];
      found += std::find(begin, end, 4 * i) != end ? 1 : 0;
    }
    const double expected = near.stats.plan.expected_recall;
    EXPECT_GE(expected, 0.9) << family;
    const double deviation = std::sqrt(expected * (1 - expected) * kQueries);
    EXPECT_GE(static_cast<double>(found), expected * kQueries - 3.9 * deviation) << family;
  }
}

}  // namespace
}  // namespace nearfield
