// The loop by growing bounds, over plain numbers: what is verified, in which order, and when it
// ends.
#include "scan/scan_rising.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.hpp"
#include "scan/range_sink.hpp"
#include "scan/top_k_sink.hpp"

namespace nearfield {
namespace {

// Row i has the key keys[i], whatever the query, and the level keys[i] / 10.
class Tens final : public BoundFilter {
 public:
  explicit Tens(const std::vector<double>& keys) : keys_(keys) {}
  void levels(Range queries, Range rows, std::uint8_t* out, std::int64_t stride) const override {
    for (std::int64_t query = 0; query < queries.size(); ++query) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const double level = keys_[static_cast<std::size_t>(row)] / 10;
        out[query * stride + row - rows.begin] = static_cast<std::uint8_t>(std::min(level, 255.0));
      }
    }
  }
  double least_key(int level) const override { return 10 * level; }
  int highest_level(double key) const override {
    return static_cast<int>(std::min(key / 10, 1000.0));
  }
  std::string name() const override { return "tens"; }

 private:
  const std::vector<double>& keys_;
};

class Recorded final : public Verifier {
 public:
  explicit Recorded(const std::vector<double>& keys) : keys_(keys) {}
  void keys(const Candidates& candidates, std::span<const double> /*thresholds*/,
            std::span<double> out, const Monitor& /*monitor*/) const override {
    const std::int64_t query = candidates.block().queries.begin;
    for (std::int64_t i = 0; i < candidates.count_of(query); ++i) {
      const std::int64_t row = candidates.row(query, i);
      rows.push_back(row);
      out[static_cast<std::size_t>(i)] = keys_[static_cast<std::size_t>(row)];
    }
  }
  mutable std::vector<std::int64_t> rows;

 private:
  const std::vector<double>& keys_;
};

struct Rising {
  explicit Rising(std::int64_t count) {
    Random random(1);
    for (std::int64_t i = 0; i < count; ++i) {
      keys.push_back(static_cast<double>(random.below(3'000)));
    }
    grid.queries = {0, 1};
    grid.rows = count;
    grid.most_block = 4;
  }

  RisingCounts run(Sink& sink, const RowSet& allowed = RowSet::all()) {
    Monitor monitor(context, grid.rows);
    verifier.rows.clear();
    return scan_rising(grid, allowed, Tens(keys), level_kernels(default_isa()), verifier, sink,
                       monitor);
  }
  std::vector<Neighbor> first(std::int64_t k) const {
    std::vector<Neighbor> all;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      all.push_back({keys[i], static_cast<std::int64_t>(i)});
    }
    std::sort(all.begin(), all.end());
    all.resize(static_cast<std::size_t>(k));
    return all;
  }

  Context context;
  RisingGrid grid;
  std::vector<double> keys;
  Recorded verifier{keys};
};

TEST(ScanRising, EndsAtTheFirstLevelThatIsTooFar) {
  Rising rising(1'000);
  for (const std::int64_t k : {1, 5, 40}) {
    TopKSink sink({0, 1}, k);
    const RisingCounts counts = rising.run(sink);
    const std::vector<Neighbor> want = rising.first(k);
    const auto got = sink.finish(0);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin(), want.end()));
    // By growing level, and none above that of the last but in the block in which it was found.
    const auto level = [&](std::int64_t row) {
      return static_cast<int>(rising.keys[static_cast<std::size_t>(row)] / 10);
    };
    EXPECT_TRUE(
        std::is_sorted(rising.verifier.rows.begin(), rising.verifier.rows.end(),
                       [&](std::int64_t a, std::int64_t b) { return level(a) < level(b); }));
    EXPECT_LE(std::count_if(rising.verifier.rows.begin(), rising.verifier.rows.end(),
                            [&](std::int64_t row) { return level(row) > want.back().key / 10; }),
              rising.grid.most_block);
    EXPECT_EQ(counts.verified, std::ssize(rising.verifier.rows));
    EXPECT_EQ(counts.considered, 1'000);
    EXPECT_EQ(counts.cut, 0);
  }
}

TEST(TopKSink, KeepsRowsThatMayComeFirst) {
  const std::vector<std::int64_t> ids{50, 40, 30, 20, 10};
  TopKSink sink({0, 1}, 2, {.ids = ids});
  std::vector<std::uint32_t> rows{0, 1, 2, 3, 4};
  EXPECT_EQ(sink.keep_useful(0, 100, rows), 5);  // not two yet
  Candidates two;
  two.start_listed({{0, 1}, {0, 5}}, 2);
  two.add(0);
  two.add(2);
  two.end_query();
  sink.consume(two, std::vector<double>{1, 7});
  EXPECT_EQ(sink.keep_useful(0, 6, rows), 5);
  EXPECT_EQ(sink.keep_useful(0, 7, rows), 2);  // as far as the second, whose id is 30
  EXPECT_EQ((std::vector<std::uint32_t>{rows[0], rows[1]}), (std::vector<std::uint32_t>{3, 4}));
  EXPECT_EQ(sink.keep_useful(0, 8, rows), 0);
}

// Where the bound is the k-th key itself, rows that come after by their ids are left out.
TEST(ScanRising, LeavesOutTiesThatComeLater) {
  Rising rising(200);
  std::fill(rising.keys.begin(), rising.keys.end(), 20);
  TopKSink sink({0, 1}, 3);
  const RisingCounts counts = rising.run(sink);
  EXPECT_LE(counts.verified, 7);  // blocks of 1, 2 and 4
  EXPECT_EQ(sink.finish(0).back(), (Neighbor{20, 2}));
}

TEST(ScanRising, VerifiesAllWithinARadiusOnce) {
  Rising rising(500);
  rising.grid.fixed_thresholds = true;
  FoundBudget budget({}, "");
  RangeSink sink({0, 1}, 295, budget);
  const RisingCounts counts = rising.run(sink);
  std::int64_t near = 0;
  std::int64_t near_by_level = 0;
  for (const double key : rising.keys) {
    near += key <= 295;
    near_by_level += key < 300;
  }
  EXPECT_EQ(std::ssize(sink.finish(0)), near);
  EXPECT_EQ(counts.verified, near_by_level);
}

TEST(ScanRising, KeepsABudgetAndSaysSo) {
  Rising rising(300);
  for (const std::int64_t budget : {0, 1, 6, 299}) {
    rising.grid.budget = budget;
    TopKSink sink({0, 1}, 300);
    const RisingCounts counts = rising.run(sink);
    EXPECT_EQ(counts.verified, budget);
    EXPECT_EQ(counts.cut, 1);
  }
  rising.grid.budget = 300;
  TopKSink sink({0, 1}, 300);
  EXPECT_EQ(rising.run(sink).cut, 0);
}

TEST(ScanRising, MeetsAllowedRowsOnly) {
  Rising rising(130);
  const std::vector<std::uint64_t> even(3, 0x5555'5555'5555'5555);
  TopKSink sink({0, 1}, 130);
  rising.run(sink, RowSet::bitset(even));
  EXPECT_EQ(std::ssize(rising.verifier.rows), 65);
  for (const std::int64_t row : rising.verifier.rows) EXPECT_EQ(row % 2, 0);
  const std::vector<std::uint64_t> nobody(1, 0);
  rising.grid.asking = nobody;
  rising.run(sink);
  EXPECT_TRUE(rising.verifier.rows.empty());
}

TEST(LevelKernels, FindTheSameOnEveryIsa) {
  Random random(2);
  for (const std::int64_t count : {0, 1, 63, 64, 65, 300}) {
    std::vector<std::uint8_t> levels;
    for (std::int64_t i = 0; i < count; ++i) {
      levels.push_back(static_cast<std::uint8_t>(random.below(256)));
    }
    for (const auto& [low, high] : {std::pair{0, 255}, {0, 0}, {255, 255}, {7, 100}}) {
      std::vector<std::uint32_t> want;
      for (std::size_t i = 0; i < levels.size(); ++i) {
        if (levels[i] >= low && levels[i] <= high) want.push_back(static_cast<std::uint32_t>(i));
      }
      for (const Isa isa : available_isas()) {
        std::vector<std::uint32_t> got(levels.size());
        got.resize(static_cast<std::size_t>(
            level_kernels(isa).find(levels.data(), count, static_cast<std::uint8_t>(low),
                                    static_cast<std::uint8_t>(high), got.data())));
        ASSERT_EQ(got, want) << to_string(isa) << " " << count;
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
