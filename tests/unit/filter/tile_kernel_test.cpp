#include "filter/rounded/tile_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "core/aligned_array.hpp"
#include "core/checked.hpp"
#include "core/infinity.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

// Random bytes, the extremes often among them, and what is expected of them.
struct TileProblem {
  TileProblem(std::int64_t cols, std::int64_t groups, std::uint64_t seed)
      : cols(cols), groups(groups), used(1 + static_cast<std::int64_t>(seed % 32)), random(seed) {
    queries.resize(static_cast<std::size_t>(kTileQueries * cols));
    rows.resize(static_cast<std::size_t>(groups * kGroupRows * cols));
    for (auto* values : {&queries, &rows}) {
      for (std::int8_t& value : *values) value = any_byte();
    }
    for (std::int64_t row = 0; row < groups * kGroupRows; ++row) {
      bias.push_back(static_cast<std::int32_t>(random() % 2001) - 1000);
    }
    for (std::int64_t group = 0; group < groups; ++group) {
      terms.push_back({static_cast<float>(random() % 5), static_cast<float>(random() % 7)});
    }
    for (std::int64_t query = 0; query < kTileQueries; ++query) {
      level.push_back(static_cast<float>(static_cast<int>(random() % 200'001) - 100'000));
      per_loss.push_back(-static_cast<float>(random() % 100));
      per_other.push_back(-static_cast<float>(random() % 100));
    }
    if (seed % 2 == 0) {
      for (std::int64_t row = 0; row < groups * kGroupRows; ++row) {
        column_bias.push_back(row % 9 == 0 ? 1 << 29
                                           : static_cast<std::int32_t>(random() % 50'000));
      }
      for (std::int64_t query = 0; query < kTileQueries; ++query) {
        column_level.push_back(static_cast<std::int32_t>(random() % 200'000));
      }
      column_level[5] = 1 << 29;
      column_level[6] = -(1 << 29);
    }
    level[3] = kFloatInfinity;
    level[4] = -kFloatInfinity;
  }

  std::int8_t any_byte() {
    const auto draw = random() % 16;
    if (draw == 0) return -128;
    return draw == 1 ? std::int8_t{127} : static_cast<std::int8_t>(random() % 256);
  }

  std::int32_t sum(std::int64_t query, std::int64_t row) const {
    std::int32_t total = bias[static_cast<std::size_t>(row)];
    for (std::int64_t i = 0; i < cols; ++i) {
      total += queries[static_cast<std::size_t>(query * cols + i)] *
               rows[static_cast<std::size_t>(row * cols + i)];
    }
    return total;
  }

  // Whole numbers throughout, so that no kernel rounds.
  bool found(std::int64_t query, std::int64_t row) const {
    const auto q = static_cast<std::size_t>(query);
    const GroupTerms& own = terms[static_cast<std::size_t>(row / kGroupRows)];
    if (static_cast<float>(sum(query, row)) >=
        level[q] + per_loss[q] * own.loss + per_other[q] * own.other) {
      return true;
    }
    return !column_bias.empty() &&
           sum(query, row) + column_bias[static_cast<std::size_t>(row)] >= column_level[q];
  }

  std::int64_t cols;
  std::int64_t groups;
  std::int64_t used;
  std::mt19937_64 random;
  std::vector<std::int8_t> queries, rows;
  std::vector<std::int32_t> bias;
  std::vector<GroupTerms> terms;
  std::vector<float> level, per_loss, per_other;
  std::vector<std::int32_t> column_bias, column_level;
};

// The problem as a kernel reads it; what lies behind a row's values is 0x55.
struct Packed {
  Packed(const TileProblem& problem, const TileKernel& kernel)
      : depth(divide_up(problem.cols, 4)),
        stride(round_up(problem.cols, kDepthBytes) * (kernel.form == QueryForm::words ? 2 : 1)),
        queries(kTileQueries * stride),
        rows(problem.groups * kGroupRows * depth * 4 + kTileBytes),
        bias(problem.groups * kGroupRows) {
    std::fill_n(queries.data(), kTileQueries * stride, std::byte{});
    std::fill_n(rows.data(), problem.groups * kGroupRows * depth * 4 + kTileBytes,
                std::int8_t{0x55});
    for (std::int64_t query = 0; query < kTileQueries; ++query) {
      for (std::int64_t i = 0; i < problem.cols; ++i) {
        put(kernel.form, problem.queries[static_cast<std::size_t>(query * problem.cols + i)],
            queries.data() + query * stride, i);
      }
    }
    for (std::int64_t row = 0; row < problem.groups * kGroupRows; ++row) {
      std::int32_t sum = 0;
      for (std::int64_t i = 0; i < problem.cols; ++i) {
        const std::int8_t value = problem.rows[static_cast<std::size_t>(row * problem.cols + i)];
        rows[row / kBlockRows * depth * 64 + i / 4 * 64 + row % kBlockRows * 4 + i % 4] = value;
        sum += value;
      }
      bias[row] = problem.bias[static_cast<std::size_t>(row)] -
                  (kernel.form == QueryForm::offset_bytes ? 128 * sum : 0);
    }
  }

  static void put(QueryForm form, std::int8_t value, std::byte* query, std::int64_t i) {
    if (form == QueryForm::words) {
      const std::int16_t wide = value;
      __builtin_memcpy(query + 2 * i, &wide, 2);
    } else {
      query[i] = static_cast<std::byte>(value + (form == QueryForm::offset_bytes ? 128 : 0));
    }
  }

  std::int64_t depth;
  std::int64_t stride;
  AlignedArray<std::byte> queries;
  AlignedArray<std::int8_t> rows;
  AlignedArray<std::int32_t> bias;
};

void expect_the_definition(const TileProblem& problem, Isa isa) {
  const TileKernel& kernel = tile_kernel(isa);
  Packed packed(problem, kernel);
  const std::int64_t room = problem.groups * kGroupRows + 32;
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(kTileQueries * room));
  std::vector<std::int32_t> sums(rows.size());
  TileJob job{.queries = packed.queries.data(),
              .used = problem.used,
              .query_stride = packed.stride,
              .rows = packed.rows.data(),
              .bias = packed.bias.data(),
              .terms = problem.terms.data(),
              .groups = problem.groups,
              .depth = packed.depth,
              .level = problem.level.data(),
              .per_loss = problem.per_loss.data(),
              .per_other = problem.per_other.data(),
              .column_bias = problem.column_bias.empty() ? nullptr : problem.column_bias.data(),
              .column_level = problem.column_bias.empty() ? nullptr : problem.column_level.data(),
              .found_rows = rows.data(),
              .found_sums = sums.data(),
              .room = room,
              .counts = {}};
  kernel.run(job);
  for (std::int64_t query = 0; query < problem.used; ++query) {
    std::vector<std::pair<std::uint32_t, std::int32_t>> want;
    std::vector<std::pair<std::uint32_t, std::int32_t>> got;
    for (std::int64_t row = 0; row < problem.groups * kGroupRows; ++row) {
      if (problem.found(query, row)) {
        want.emplace_back(static_cast<std::uint32_t>(row), problem.sum(query, row));
      }
    }
    for (std::int64_t i = 0; i < job.counts[query]; ++i) {
      const auto at = static_cast<std::size_t>(query * room + i);
      got.emplace_back(rows[at], sums[at]);
    }
    ASSERT_EQ(got, want) << kernel.name << ", " << problem.cols << " columns, query " << query;
  }
}

// As NearestTileJob says, pair by pair.
void expect_the_nearest(TileProblem problem, const TileKernel& kernel, int shift, int kept) {
  const std::int64_t whole = problem.groups * kGroupRows;
  const std::int64_t row_count = whole - static_cast<std::int64_t>(problem.random() % kGroupRows);
  std::fill(problem.bias.begin(), problem.bias.end(), 0);
  std::vector<std::int32_t> level, odd, row_term;
  for (std::int64_t query = 0; query < kTileQueries; ++query) {
    level.push_back(static_cast<std::int32_t>(problem.random() % 2001) - 1000);
    odd.push_back(shift == 0 ? 0 : static_cast<std::int32_t>(problem.random() % 2));
  }
  for (std::int64_t row = 0; row < whole; ++row) {
    row_term.push_back(static_cast<std::int32_t>(problem.random() % 2001) - 1000);
  }
  constexpr std::int32_t kFirstQuery = 1000;
  constexpr std::int32_t kFirstRow = 5000;
  NearestKeys of_queries(kTileQueries), want_of_queries(kTileQueries);
  NearestKeys of_rows(whole), want_of_rows(whole);
  const auto met_before = [&](NearestKeys& keys, NearestKeys& want, std::int64_t place) {
    const auto key = static_cast<std::int32_t>(problem.random() % 100'000) - 50'000;
    for (NearestKeys* each : {&keys, &want}) {
      each->places().offer(place, key, 20'000);
      each->places().offer(place, key + 5, 3);
    }
  };
  for (std::int64_t query = 0; query < kTileQueries; query += 3) {
    met_before(of_queries, want_of_queries, query);
  }
  for (std::int64_t row = 0; row < whole; row += 2) met_before(of_rows, want_of_rows, row);
  for (std::int64_t query = 0; query < problem.used; ++query) {
    for (std::int64_t row = 0; row < row_count; ++row) {
      const auto q = static_cast<std::size_t>(query);
      const auto r = static_cast<std::size_t>(row);
      const std::int32_t key =
          odd[q] + row_term[r] - (1 << shift) * (problem.sum(query, row) - level[q]);
      want_of_queries.places().offer(query, key, kFirstRow + static_cast<std::int32_t>(row));
      want_of_rows.places().offer(row, key, kFirstQuery + static_cast<std::int32_t>(query));
    }
  }
  Packed packed(problem, kernel);
  NearestTileJob job{.queries = packed.queries.data(),
                     .used = problem.used,
                     .query_stride = packed.stride,
                     .rows = packed.rows.data(),
                     .groups = problem.groups,
                     .depth = packed.depth,
                     .rows_from_memory = false,
                     .row_count = row_count,
                     .query_level = level.data(),
                     .query_odd = odd.data(),
                     .row_term = row_term.data(),
                     .shift = shift,
                     .kept = kept,
                     .of_queries = of_queries.places(),
                     .of_rows = of_rows.places(),
                     .first_query = kFirstQuery,
                     .first_row = kFirstRow,
                     .offered = 0};
  kernel.nearest(job);
  const auto expect_same = [&](const NearestKeys& got, const NearestKeys& want, std::int64_t count,
                               const char* side) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const bool same = got.first(i) == want.first(i) && got.id(i) == want.id(i) &&
                        (kept == 1 || got.second(i) == want.second(i));
      ASSERT_TRUE(same) << kernel.name << ", " << problem.cols << " columns, shift " << shift
                        << ", kept " << kept << ", " << side << ' ' << i << ": " << got.first(i)
                        << ' ' << got.id(i) << ' ' << got.second(i) << " instead of "
                        << want.first(i) << ' ' << want.id(i) << ' ' << want.second(i);
    }
  };
  expect_same(of_queries, want_of_queries, kTileQueries, "query");
  expect_same(of_rows, want_of_rows, row_count, "row");
  EXPECT_LE(job.offered, problem.used * row_count);
}

TEST(TileKernel, FindsWhatItsDefinitionSays) {
  for (const Isa isa : available_isas()) {
    for (const std::int64_t cols : {1, 3, 4, 5, 17, 63, 64, 65, 128, 200, 777}) {
      for (const std::int64_t groups : {1, 2, 5}) {
        expect_the_definition(
            TileProblem(cols, groups, static_cast<std::uint64_t>(cols * 10 + groups)), isa);
      }
    }
  }
}

// Few columns have many equal keys, of which the smallest id counts.
TEST(TileKernel, KeepsTheNearestOfBothSides) {
  for (const Isa isa : available_isas()) {
    const TileKernel& kernel = tile_kernel(isa);
    if (kernel.nearest == nullptr) continue;
    std::uint64_t seed = 1;
    for (const std::int64_t cols : {1, 2, 63, 64, 65, 128, 129, 256, 300, 520}) {
      for (const int shift : {0, 1}) {
        for (const int kept : {1, 2}) {
          for (const std::int64_t groups : {1, 2, 5}) {
            expect_the_nearest({cols, groups, seed += 7}, kernel, shift, kept);
          }
        }
      }
    }
  }
}

// What rows that are never or always found have, beside the least and the largest thresholds.
TEST(TileKernel, TheLargestBiasesDoNotOverflow) {
  for (const std::uint64_t seed : {2U, 3U}) {
    TileProblem problem(40, 2, seed);
    problem.used = kTileQueries;
    for (std::size_t row = 0; row < problem.bias.size(); ++row) {
      if (row % 3 == 0) problem.bias[row] = kLargestProduct;
      if (row % 3 == 1) problem.bias[row] = 1 - kLargestProduct;
      if (seed % 2 == 0 && row % 5 == 0) problem.column_bias[row] = -(1 << 28);
    }
    for (std::int64_t row = 0; row < 64; ++row) {
      // Whose bytes are zeros.
      if (row % 3 < 2) std::fill_n(problem.rows.begin() + row * 40, 40, std::int8_t{0});
    }
    // Of these, the definition in floats is not exact.
    problem.level[3] = problem.level[4] = 0;
    for (const Isa isa : available_isas()) expect_the_definition(problem, isa);
  }
}

TEST(TileKernel, TheLargestSumsDoNotOverflow) {
  constexpr std::int64_t kMostCols = 16'384;
  TileProblem problem(kMostCols, 1, 1);
  std::fill(problem.queries.begin(), problem.queries.end(), std::int8_t{-128});
  std::fill(problem.rows.begin(), problem.rows.end(), std::int8_t{-128});
  for (const Isa isa : available_isas()) expect_the_definition(problem, isa);
}

}  // namespace
}  // namespace nearfield
