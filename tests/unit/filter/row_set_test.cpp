#include "filter/row_set.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/random.hpp"
#include "filter/every_row.hpp"

namespace nearfield {
namespace {

using Sets = std::vector<std::set<std::int64_t>>;

// Every third row, as a filter that drops some.
class EveryThird final : public Filter {
 public:
  void survivors(const Block& block, std::span<const double>, Candidates& out) const override {
    out.start_listed(block);
    for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      for (std::int64_t row = block.rows.begin; row < block.rows.end; ++row) {
        if (row % 3 == 0) out.add(row);
      }
      out.end_query();
    }
  }
  bool certified() const override { return false; }
  std::string name() const override { return "every third row"; }
};

// The rows of each query that filter and set let through, over all tiles of the given size.
Sets passing(const Filter& filter, const RowSet& allowed, std::int64_t queries, std::int64_t rows,
             std::int64_t tile) {
  Sets found(static_cast<std::size_t>(queries));
  Candidates candidates;
  const std::vector<double> thresholds(static_cast<std::size_t>(queries));
  for (std::int64_t row = 0; row < rows; row += tile) {
    filter.survivors({{0, queries}, {row, std::min(row + tile, rows)}}, thresholds, candidates);
    allowed.restrict(candidates);
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

// Densities on both sides of a row in 64, where a list becomes a bitset.
TEST(RowSet, BitsetAndListAreTheSameSetForAnyTileAndFilter) {
  constexpr std::int64_t kRows = 700;
  constexpr std::int64_t kQueries = 5;
  const Context context;
  const Monitor monitor(context, 0);
  for (const double density : {0.0, 0.005, 0.1, 0.5, 1.0}) {
    Random random(3);
    std::vector<std::uint64_t> words(11);
    std::vector<std::int64_t> ids;
    std::set<std::int64_t> all;
    std::set<std::int64_t> thirds;
    for (std::int64_t row = 0; row < kRows; ++row) {
      if (random.uniform() >= density) continue;
      words[static_cast<std::size_t>(row / 64)] |= std::uint64_t{1} << (row % 64);
      all.insert(row);
      if (row % 3 == 0) thirds.insert(row);
      ids.insert(ids.begin(), row);           // falling
      if (row % 50 == 0) ids.push_back(row);  // and some again
    }
    RowSet others = RowSet::list(ids, kRows, monitor);
    others.set_meets(Meets::other_rows);
    for (const std::int64_t tile : {1, 7, 64, 65, 700}) {
      const RowSet bitset = RowSet::bitset(words);
      EXPECT_EQ(passing(EveryRow(), bitset, kQueries, kRows, tile), Sets(kQueries, all));
      EXPECT_EQ(passing(EveryThird(), bitset, kQueries, kRows, tile), Sets(kQueries, thirds));
      const Sets without = passing(EveryThird(), others, kQueries, kRows, tile);
      for (std::int64_t query = 0; query < kQueries; ++query) {
        std::set<std::int64_t> rest = thirds;
        rest.erase(query);
        EXPECT_EQ(without[static_cast<std::size_t>(query)], rest);
      }
    }
  }
}

TEST(RowSet, AllRowsStayDenseUnlessSelfIsAmongThem) {
  Candidates candidates;
  RowSet others = RowSet::all();
  others.set_meets(Meets::other_rows);
  candidates.start_dense({{0, 2}, {10, 20}});
  others.restrict(candidates);
  EXPECT_TRUE(candidates.dense());
  candidates.start_dense({{0, 2}, {0, 10}});
  RowSet::all().restrict(candidates);
  EXPECT_TRUE(candidates.dense());
  others.restrict(candidates);
  EXPECT_FALSE(candidates.dense());
  EXPECT_EQ(candidates.size(), 18);
}

TEST(RowSet, LaterRowsLetEachPairThroughOnce) {
  constexpr std::int64_t kRows = 40;
  RowSet later = RowSet::all();
  later.set_meets(Meets::later_rows);
  for (const std::int64_t tile : {1, 7, 40}) {
    std::int64_t pairs = 0;
    for (std::int64_t row = 0; row < kRows; row += tile) {
      pairs += later.pairs_in({{0, kRows}, {row, std::min(row + tile, kRows)}});
    }
    EXPECT_EQ(pairs, kRows * (kRows - 1) / 2);
    const Sets found = passing(EveryRow(), later, kRows, kRows, tile);
    for (std::int64_t query = 0; query < kRows; ++query) {
      const std::set<std::int64_t>& rows = found[static_cast<std::size_t>(query)];
      EXPECT_EQ(std::ssize(rows), kRows - 1 - query);
      EXPECT_TRUE(rows.empty() || *rows.begin() == query + 1);
    }
  }
}

}  // namespace
}  // namespace nearfield
