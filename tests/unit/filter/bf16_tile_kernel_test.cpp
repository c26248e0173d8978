#include "filter/rounded/bf16_tile_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "core/aligned_array.hpp"
#include "core/checked.hpp"
#include "core/infinity.hpp"
#include "filter/rounded/bf16_vectors.hpp"

namespace nearfield {
namespace {

std::uint16_t bf16(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

// Of values that bf16 holds.
struct Bf16TileProblem {
  Bf16TileProblem(std::int64_t cols, std::int64_t groups, const std::function<float()>& draw)
      : cols(cols), rows_count(groups * kGroupRows) {
    const auto fill = [&](std::vector<float>& values, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) values.push_back(draw());
    };
    fill(queries, kTileQueries * cols);
    fill(rows, rows_count * cols);
    for (std::vector<float>* of_rows : {&bias, &term, &column_bias, &per_column}) {
      fill(*of_rows, rows_count);
    }
    for (std::vector<float>* of_queries : {&level, &per_term, &column_term, &column_level}) {
      fill(*of_queries, kTileQueries);
    }
  }

  double sum(std::int64_t query, std::int64_t row, bool magnitudes = false) const {
    double total = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double product =
          static_cast<double>(queries[static_cast<std::size_t>(query * cols + i)]) *
          rows[static_cast<std::size_t>(row * cols + i)];
      total += magnitudes ? std::abs(product) : product;
    }
    return total;
  }

  // By how much the left side is larger than the right.
  double beyond(std::int64_t query, std::int64_t row) const {
    const auto q = static_cast<std::size_t>(query);
    const auto r = static_cast<std::size_t>(row);
    return sum(query, row) + bias[r] + static_cast<double>(per_term[q]) * term[r] - level[q];
  }
  double column_beyond(std::int64_t query, std::int64_t row) const {
    const auto q = static_cast<std::size_t>(query);
    const auto r = static_cast<std::size_t>(row);
    return sum(query, row) + column_bias[r] + static_cast<double>(column_term[q]) * per_column[r] -
           column_level[q];
  }

  // [query][row]
  std::vector<bool> run(bool both) const;

  std::int64_t cols;
  std::int64_t rows_count;
  std::vector<float> queries, rows;
  std::vector<float> bias, term, column_bias, per_column;
  std::vector<float> level, per_term, column_term, column_level;
};

// What lies behind a row's values and behind the last row is 1.
std::vector<bool> Bf16TileProblem::run(bool both) const {
  const std::int64_t depth = divide_up(cols, 2);
  const std::int64_t stride = round_up(cols * 2, kDepthBytes);
  AlignedArray<std::uint16_t> packed_queries(kTileQueries * stride / 2);
  std::fill_n(packed_queries.data(), kTileQueries * stride / 2, std::uint16_t{0});
  const std::int64_t values = rows_count * depth * 2 + kTileBytes / 2;
  AlignedArray<std::uint16_t> packed_rows(values);
  std::fill_n(packed_rows.data(), values, bf16(1));
  for (std::int64_t i = 0; i < cols; ++i) {
    for (std::int64_t query = 0; query < kTileQueries; ++query) {
      packed_queries[query * stride / 2 + i] =
          bf16(queries[static_cast<std::size_t>(query * cols + i)]);
    }
    for (std::int64_t row = 0; row < rows_count; ++row) {
      packed_rows[row / kBlockRows * depth * 32 + i / 2 * 32 + row % kBlockRows * 2 + i % 2] =
          bf16(rows[static_cast<std::size_t>(row * cols + i)]);
    }
  }
  const std::int64_t room = rows_count + 32;
  std::vector<std::uint32_t> found(static_cast<std::size_t>(kTileQueries * room));
  Bf16TileJob job{.queries = reinterpret_cast<const std::byte*>(packed_queries.data()),
                  .query_stride = stride,
                  .rows = reinterpret_cast<const std::byte*>(packed_rows.data()),
                  .bias = bias.data(),
                  .term = term.data(),
                  .groups = rows_count / kGroupRows,
                  .depth = depth,
                  .level = level.data(),
                  .per_term = per_term.data(),
                  .column_bias = both ? column_bias.data() : nullptr,
                  .per_column = per_column.data(),
                  .column_term = column_term.data(),
                  .column_level = column_level.data(),
                  .found_rows = found.data(),
                  .room = room,
                  .counts = {}};
  bf16_tile_kernel(Isa::amx)(job);
  std::vector<bool> marked(static_cast<std::size_t>(kTileQueries * rows_count));
  for (std::int64_t query = 0; query < kTileQueries; ++query) {
    for (std::int64_t i = 0; i < job.counts[query]; ++i) {
      const std::uint32_t row = found[static_cast<std::size_t>(query * room + i)];
      EXPECT_TRUE(i == 0 || row > found[static_cast<std::size_t>(query * room + i - 1)]);
      marked[static_cast<std::size_t>(query * rows_count + row)] = true;
    }
  }
  return marked;
}

bool has_kernel() { return default_isa() == Isa::amx && bf16_tile_kernel(Isa::amx) != nullptr; }

constexpr std::int64_t kDepths[] = {1, 2, 3, 31, 32, 33, 64, 100, 128, 129, 777, 4096, 16'384};

// Whole numbers throughout, so that nothing rounds.
TEST(Bf16TileKernel, FindsWhatItsDefinitionSays) {
  if (!has_kernel()) GTEST_SKIP() << "no tiles of bf16 here";
  std::mt19937_64 random(1);
  for (const std::int64_t cols : kDepths) {
    for (const std::int64_t groups : {1, 2, 5}) {
      Bf16TileProblem problem(cols, groups, [&] { return static_cast<float>(random() % 9) - 4; });
      problem.level[3] = problem.column_level[4] = kFloatInfinity;
      problem.level[4] = problem.column_level[5] = -kFloatInfinity;
      problem.bias[3] = problem.column_bias[4] = kFloatInfinity;
      problem.bias[6] = std::numeric_limits<float>::quiet_NaN();  // keeps the row
      for (const bool both : {false, true}) {
        const std::vector<bool> found = problem.run(both);
        for (std::int64_t query = 0; query < kTileQueries; ++query) {
          for (std::int64_t row = 0; row < problem.rows_count; ++row) {
            // Infinities of one sign on both sides are equal, and what is no number is kept.
            const auto reached = [](double beyond) { return beyond >= 0 || std::isnan(beyond); };
            const bool want = reached(problem.beyond(query, row)) ||
                              (both && reached(problem.column_beyond(query, row)));
            ASSERT_EQ(found[static_cast<std::size_t>(query * problem.rows_count + row)], want)
                << cols << " columns, query " << query << ", row " << row;
          }
        }
      }
    }
  }
}

// The sum's error, of many sizes and signs: levels are the true left side, and as much more or less
// as docs/exactness.md allows.
TEST(Bf16TileKernel, SumsAreOffByNoMoreThanTheBoundSays) {
  if (!has_kernel()) GTEST_SKIP() << "no tiles of bf16 here";
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  double worst = 0;
  for (const std::int64_t cols : kDepths) {
    for (const int spread : {0, 8, 30}) {
      Bf16TileProblem problem(cols, 1, [&] {
        const auto powers = static_cast<std::uint64_t>(2 * spread + 1);
        const int power = static_cast<int>(random() % powers) - spread;
        return std::bit_cast<float>(
            std::bit_cast<std::uint32_t>(std::ldexp(normal(random), power)) & 0xffff0000U);
      });
      std::fill(problem.bias.begin(), problem.bias.end(), 0.0F);
      std::fill(problem.per_term.begin(), problem.per_term.end(), 0.0F);
      // Every query against the row of its number.
      for (const double part : {-1.0, -0.1, -0.01, 0.01, 0.1, 1.0}) {
        for (std::int64_t query = 0; query < kTileQueries; ++query) {
          const double bound = bf16_sum_error(cols) * problem.sum(query, query, true);
          problem.level[static_cast<std::size_t>(query)] =
              static_cast<float>(problem.sum(query, query) + part * bound);
        }
        const std::vector<bool> found = problem.run(false);
        for (std::int64_t query = 0; query < kTileQueries; ++query) {
          const bool one = found[static_cast<std::size_t>(query * problem.rows_count + query)];
          if (one != (part < 0)) worst = std::max(worst, std::abs(part));
          if (std::abs(part) == 1) {
            EXPECT_EQ(one, part < 0) << cols << " columns";
          }
        }
      }
    }
  }
  EXPECT_LT(worst, 1);
  EXPECT_GT(worst, 0);  // or levels were never close to a sum
}

// 1, and then of each tile 2^-25, which is half of the last place and vanishes each time: the worst
// order there is, if tiles are added one after the other.
TEST(Bf16TileKernel, SumsThatVanishOneByOneAreWithinTheBound) {
  if (!has_kernel()) GTEST_SKIP() << "no tiles of bf16 here";
  constexpr std::int64_t kTileValues = kDepthBytes / 2;
  for (const std::int64_t cols : {64, 4096, 16'383, 16'384}) {
    Bf16TileProblem problem(cols, 1, [] { return 0.0F; });
    for (std::int64_t i = 0; i < cols; i += kTileValues) {
      for (std::int64_t query = 0; query < kTileQueries; ++query) {
        problem.queries[static_cast<std::size_t>(query * cols + i)] = 1;
        problem.rows[static_cast<std::size_t>(query * cols + i)] = i == 0 ? 1 : 0x1p-25F;
      }
    }
    const double sum = problem.sum(0, 0);
    EXPECT_GT(sum, 1);
    const auto all_found = [&](float level) {
      std::fill(problem.level.begin(), problem.level.end(), level);
      const std::vector<bool> found = problem.run(false);
      return std::find(found.begin(), found.end(), false) == found.end();
    };
    EXPECT_TRUE(all_found(static_cast<float>(sum - bf16_sum_error(cols) * sum)));
    if (cols > 64) {
      EXPECT_FALSE(all_found(static_cast<float>(sum)));  // it is off, as it was meant to be
    }
  }
}

}  // namespace
}  // namespace nearfield
