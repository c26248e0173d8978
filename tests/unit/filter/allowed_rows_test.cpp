#include "filter/allowed_rows.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/random.hpp"

namespace nearfield {
namespace {

// The rows of each query that the filter lets through, over all tiles of the given size.
std::vector<std::set<std::int64_t>> allowed(const Filter& filter, std::int64_t queries,
                                            std::int64_t rows, std::int64_t tile) {
  std::vector<std::set<std::int64_t>> found(static_cast<std::size_t>(queries));
  Candidates candidates;
  for (std::int64_t row = 0; row < rows; row += tile) {
    const Block block{{0, queries}, {row, std::min(row + tile, rows)}};
    const std::vector<double> thresholds(static_cast<std::size_t>(queries));
    filter.survivors(block, thresholds, candidates);
    std::int64_t total = 0;
    for (std::int64_t query = 0; query < queries; ++query) {
      total += candidates.count_of(query);
      for (std::int64_t i = 0; i < candidates.count_of(query); ++i) {
        const std::int64_t offset =
            candidates.dense() ? i : candidates.rows_of(query)[static_cast<std::size_t>(i)];
        EXPECT_TRUE(found[static_cast<std::size_t>(query)].insert(row + offset).second);
      }
    }
    EXPECT_EQ(total, candidates.size());
  }
  return found;
}

TEST(AllowedRows, BitsetAndListAreTheSameSetForAnyTile) {
  constexpr std::int64_t kRows = 300;
  constexpr std::int64_t kQueries = 5;
  for (const double density : {0.0, 0.02, 0.5, 1.0}) {
    Random random(3);
    std::vector<std::uint64_t> words(5);
    std::vector<std::int64_t> ids;
    std::set<std::int64_t> want;
    for (std::int64_t row = 0; row < kRows; ++row) {
      if (random.uniform() >= density) continue;
      words[static_cast<std::size_t>(row / 64)] |= std::uint64_t{1} << (row % 64);
      want.insert(row);
      ids.insert(ids.begin(), row);  // falling
      ids.push_back(row);            // and again
    }
    for (const std::int64_t tile : {1, 7, 64, 65, 300}) {
      for (const auto& set : allowed(AllowedRows::bitset(words), kQueries, kRows, tile)) {
        EXPECT_EQ(set, want);
      }
      const auto lists = allowed(AllowedRows::list(ids).without_self(), kQueries, kRows, tile);
      for (std::int64_t query = 0; query < kQueries; ++query) {
        std::set<std::int64_t> rest = want;
        rest.erase(query);
        EXPECT_EQ(lists[static_cast<std::size_t>(query)], rest);
      }
    }
  }
}

TEST(AllowedRows, AllRowsAreDenseUnlessSelfIsAmongThem) {
  Candidates candidates;
  const std::vector<double> thresholds(2);
  AllowedRows::all().survivors({{0, 2}, {0, 10}}, thresholds, candidates);
  EXPECT_TRUE(candidates.dense());
  EXPECT_EQ(candidates.size(), 20);
  const AllowedRows others = AllowedRows::all().without_self();
  others.survivors({{0, 2}, {10, 20}}, thresholds, candidates);
  EXPECT_TRUE(candidates.dense());
  others.survivors({{0, 2}, {0, 10}}, thresholds, candidates);
  EXPECT_FALSE(candidates.dense());
  EXPECT_EQ(candidates.size(), 18);
}

}  // namespace
}  // namespace nearfield
