// The loop where rows are listed elsewhere: the answers of the loop that looks at all levels, and
// what is verified for them.
#include "scan/scan_listed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/random.hpp"
#include "scan/range_sink.hpp"
#include "scan/top_k_sink.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

// A key for each query and row, and the level key / 10.
class ListedKeyTable {
 public:
  ListedKeyTable(std::int64_t queries, std::int64_t rows) : rows_(rows) {
    Random random(7);
    for (std::int64_t i = 0; i < queries * rows; ++i) {
      keys_.push_back(static_cast<double>(random.below(3'000)));
    }
  }
  std::int64_t rows() const { return rows_; }
  double key(std::int64_t query, std::int64_t row) const {
    return keys_[static_cast<std::size_t>(query * rows_ + row)];
  }
  int level(std::int64_t query, std::int64_t row) const {
    return static_cast<int>(std::min(key(query, row) / 10, 255.0));
  }

 private:
  std::int64_t rows_;
  std::vector<double> keys_;
};

class TableBounds final : public BoundFilter {
 public:
  explicit TableBounds(const ListedKeyTable& table) : table_(table) {}
  void levels(Range queries, Range rows, std::uint8_t* out, std::int64_t stride) const override {
    for (std::int64_t i = 0; i < queries.size(); ++i) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        out[i * stride + row - rows.begin] =
            static_cast<std::uint8_t>(table_.level(queries.begin + i, row));
      }
    }
  }
  double least_key(int level) const override { return 10 * level; }
  int highest_level(double key) const override {
    return static_cast<int>(std::min(key / 10, 1000.0));
  }
  std::string name() const override { return "tens"; }

 private:
  const ListedKeyTable& table_;
};

class TableVerifier final : public Verifier {
 public:
  explicit TableVerifier(const ListedKeyTable& table) : table_(table) {}
  void keys(const Candidates& candidates, std::span<const double> /*thresholds*/,
            std::span<double> out, const Monitor& /*monitor*/) const override {
    const std::int64_t query = candidates.block().queries.begin;
    for (std::int64_t i = 0; i < candidates.count_of(query); ++i) {
      out[static_cast<std::size_t>(i)] = table_.key(query, candidates.row(query, i));
    }
  }

 private:
  const ListedKeyTable& table_;
};

// Lists by looking at the table; two requests at a time, and keys in two parts where they fall.
class TableLister final : public LevelLister {
 public:
  TableLister(const ListedKeyTable& table, bool keyed) : table_(table), keyed_(keyed) {}
  std::int64_t most_queries() const override { return 5; }
  bool keyed() const override { return keyed_; }
  void start(Range queries) override { queries_ = queries; }
  void count(std::span<std::uint32_t> counts) override {
    std::ranges::fill(counts, 0);
    for (std::int64_t i = 0; i < queries_.size(); ++i) {
      for (std::int64_t row = 0; row < table_.rows(); ++row) {
        const std::int64_t level = table_.level(queries_.begin + i, row);
        ++counts[static_cast<std::size_t>(i * kLevelCount + level)];
      }
    }
  }
  void list(std::span<const LevelRequest> requests, const FallingKeys* falling,
            const Take& take) override {
    if (fails) fail_now();
    for (std::size_t first = 0; first < requests.size(); first += 2) {
      const auto two = requests.subspan(first, std::min<std::size_t>(2, requests.size() - first));
      std::vector<LevelRequest> some(two.begin(), two.end());
      std::int64_t begin = 0;
      if (keyed_ && falling != nullptr) {  // the first rows alone
        begin = table_.rows() / 3;
        list_some(some, {0, begin}, take);
        for (LevelRequest& request : some) request.most_key = falling->most_key(request.query);
      }
      list_some(some, {begin, table_.rows()}, take);
    }
  }
  bool fails = false;

 private:
  [[noreturn]] static void fail_now() {
    throw Error(ErrorCode::unsupported, "the lister is made to fail");
  }
  void list_some(std::span<const LevelRequest> requests, Range some, const Take& take) const {
    std::vector<std::uint32_t> starts{0};
    std::vector<std::uint32_t> rows;
    std::vector<std::uint8_t> levels;
    std::vector<double> keys;
    std::int64_t computed = 0;
    for (const LevelRequest& request : requests) {
      for (std::int64_t row = std::max(some.begin, request.first_row); row < some.end; ++row) {
        const int level = table_.level(request.query, row);
        if (level < request.low || level > request.high) continue;
        ++computed;
        const double key = table_.key(request.query, row);
        if (keyed_ && key > request.most_key) continue;
        rows.push_back(static_cast<std::uint32_t>(row));
        if (keyed_) keys.push_back(key);
        if (!keyed_) levels.push_back(static_cast<std::uint8_t>(level));
      }
      starts.push_back(static_cast<std::uint32_t>(rows.size()));
    }
    take({.requests = requests,
          .starts = starts,
          .rows = rows,
          .levels = levels,
          .keys = keys,
          .computed = keyed_ ? computed : 0});
  }

  const ListedKeyTable& table_;
  bool keyed_;
  Range queries_;
};

struct Listed {
  Listed() {
    grid.queries = {0, 41};
    grid.rows = table.rows();
    grid.first_block = 2;
    grid.most_block = 16;
    grid.query_tile = 4;
    grid.threads = 2;
  }

  RisingCounts on_cpu(Sink& sink, const RowSet& allowed) {
    Monitor monitor(context, 1);
    return scan_rising(grid, allowed, bounds, level_kernels(default_isa()), verifier, sink,
                       monitor);
  }
  RisingCounts listed(Sink& sink, const RowSet& allowed, bool keyed, bool cpu) {
    Monitor monitor(context, 1);
    TableLister one(table, keyed);
    TableLister other(table, keyed);
    one.fails = other.fails = fails;
    const std::vector<LevelLister*> listers{&one, &other};
    const RisingSteps steps{grid,     allowed, bounds, level_kernels(default_isa()),
                            verifier, sink,    monitor};
    return scan_listed({listers, cpu, 20}, steps).counts;
  }

  ListedKeyTable table{41, 1'500};
  TableBounds bounds{table};
  TableVerifier verifier{table};
  RisingGrid grid;
  Context context;
  bool fails = false;
};

TEST(ScanListed, FindsAndVerifiesTheSame) {
  Listed test;
  std::vector<std::uint64_t> bits(24, 0x5555'0FF0'FFFF'F00F);
  for (const RowSet& allowed : {RowSet::all(), RowSet::bitset(bits)}) {
    for (const std::int64_t k : {1, 9, 1'500}) {
      for (const std::optional<std::int64_t> budget : {std::optional<std::int64_t>(), {30}}) {
        test.grid.budget = budget;
        TopKSink expected(test.grid.queries, k, {});
        const RisingCounts on_cpu = test.on_cpu(expected, allowed);
        for (const bool cpu : {false, true}) {
          TopKSink found(test.grid.queries, k, {});
          const RisingCounts counts = test.listed(found, allowed, false, cpu);
          EXPECT_EQ(counts.verified, on_cpu.verified);
          EXPECT_EQ(counts.considered, on_cpu.considered);
          EXPECT_EQ(counts.cut, on_cpu.cut);
          for (std::int64_t query = 0; query < 41; ++query) {
            EXPECT_TRUE(std::ranges::equal(found.finish(query), expected.finish(query))) << query;
          }
        }
      }
    }
  }
}

TEST(ScanListed, TakesKeysOfTheLister) {
  Listed test;
  const RowSet allowed = RowSet::all();
  for (const std::int64_t k : {1, 9, 1'500}) {
    TopKSink expected(test.grid.queries, k, {});
    const RisingCounts on_cpu = test.on_cpu(expected, allowed);
    TopKSink found(test.grid.queries, k, {});
    const RisingCounts counts = test.listed(found, allowed, true, false);
    EXPECT_GE(counts.verified, on_cpu.verified);
    for (std::int64_t query = 0; query < 41; ++query) {
      EXPECT_TRUE(std::ranges::equal(found.finish(query), expected.finish(query))) << query;
    }
  }
}

TEST(ScanListed, OfAFixedRadius) {
  Listed test;
  test.grid.fixed_thresholds = true;
  const RowSet allowed = RowSet::all();
  for (const bool keyed : {false, true}) {
    FoundBudget budget(std::nullopt, "");
    RangeSink expected(test.grid.queries, 500, budget, {});
    test.on_cpu(expected, allowed);
    RangeSink found(test.grid.queries, 500, budget, {});
    test.listed(found, allowed, keyed, false);
    for (std::int64_t query = 0; query < 41; ++query) {
      EXPECT_TRUE(std::ranges::equal(found.finish(query), expected.finish(query))) << query;
    }
  }
}

// Of a set with itself each pair is looked at once, by its first.
TEST(ScanListed, KeysOfLaterRowsAlone) {
  Listed test;
  test.grid.fixed_thresholds = true;
  RowSet allowed = RowSet::all();
  allowed.set_meets(Meets::later_rows);
  FoundBudget budget(std::nullopt, "");
  for (const bool keyed : {false, true}) {
    RangeSink found(test.grid.queries, 5'000, budget, {});
    const RisingCounts counts = test.listed(found, allowed, keyed, false);
    EXPECT_EQ(counts.considered, 41 * 1'500 - 41 * 42 / 2);
    EXPECT_EQ(counts.verified, counts.considered);
    for (std::int64_t query = 0; query < 41; ++query) {
      EXPECT_EQ(std::ssize(found.finish(query)), 1'499 - query);
    }
  }
}

TEST(ScanListed, EndsWhereAListerFailsOrTheCallerStops) {
  Listed test;
  TopKSink sink(test.grid.queries, 3, {});
  test.fails = true;
  test::expect_error([&] { test.listed(sink, RowSet::all(), false, false); },
                     ErrorCode::unsupported, {"made to fail"});
  test.fails = false;
  test.context.cancel.cancel();
  test::expect_error([&] { test.listed(sink, RowSet::all(), false, true); }, ErrorCode::cancelled,
                     {});
}

}  // namespace
}  // namespace nearfield
