// The loop knows row numbers only: here the objects are integers and nothing is a matrix.
#include "scan/scan.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "scan/top_k_sink.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kQueries = 23;
constexpr std::int64_t kRows = 1000;

// Query i is the number 40 i, row j the number j * 7919 mod 1000; the distance is |a - b|.
double distance(std::int64_t query, std::int64_t row) {
  return static_cast<double>(std::abs(query * 40 - row * 7919 % kRows));
}

class NumberVerifier final : public Verifier {
 public:
  void keys(const Candidates& candidates, std::span<const double>, std::span<double> out,
            const Monitor& /*monitor*/) const override {
    ++calls;
    std::size_t next = 0;
    const Block& block = candidates.block();
    for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      for (std::int64_t i = 0; i < candidates.count_of(query); ++i) {
        const std::int64_t row = candidates.row(query, i);
        out[next++] = row == 5 ? kNever : distance(query, row);
      }
    }
    EXPECT_EQ(next, out.size());
  }

  mutable std::atomic<int> calls{0};
};

// Drops what is above the threshold, as a perfect bound would.
class PerfectFilter final : public Filter {
 public:
  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    out.start_listed(block);
    for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      const double most = thresholds[static_cast<std::size_t>(query - block.queries.begin)];
      for (std::int64_t row = block.rows.begin; row < block.rows.end; ++row) {
        if (distance(query, row) <= most) out.add(row);
      }
      out.end_query();
    }
  }
  bool certified() const override { return true; }
  std::string name() const override { return "perfect"; }
};

std::vector<Neighbor> definition(std::int64_t query, std::size_t k) {
  std::vector<Neighbor> all;
  for (std::int64_t row = 0; row < kRows; ++row) {
    if (row != 5) all.push_back({distance(query, row), row});
  }
  std::sort(all.begin(), all.end());
  all.resize(k);
  return all;
}

TEST(Scan, AnyGridGivesTheDefinition) {
  const Context context;
  for (const int threads : {1, 3}) {
    for (const std::int64_t query_tile : {1, 4, 23}) {
      for (const std::int64_t row_tile : {1, 64, 1000}) {
        for (const std::int64_t row_parts : {1, 2, 5}) {
          Monitor monitor(context, kQueries * kRows);
          TopKSink sink({0, kQueries}, 10);
          const ScanGrid grid{{0, kQueries}, {0, kRows}, query_tile, row_tile,
                              row_tile,      row_parts,  threads};
          const ScanCounts counts =
              scan(grid, RowSet::all(), PerfectFilter(), NumberVerifier(), sink, monitor);
          EXPECT_EQ(counts.considered, kQueries * kRows);
          EXPECT_LE(counts.verified, counts.considered);
          for (std::int64_t query = 0; query < kQueries; ++query) {
            const auto best = sink.finish(query);
            EXPECT_EQ(std::vector<Neighbor>(best.begin(), best.end()), definition(query, 10));
          }
        }
      }
    }
  }
}

TEST(Scan, OneVirtualCallABlock) {
  const Context context;
  Monitor monitor(context, kQueries * kRows);
  TopKSink sink({0, kQueries}, 10);
  const NumberVerifier verifier;
  const ScanGrid grid{{0, kQueries}, {0, kRows}, 23, 500, 500, 1, 1};
  const ScanCounts counts = scan(grid, RowSet::all(), PerfectFilter(), verifier, sink, monitor);
  EXPECT_EQ(verifier.calls, 2);
  EXPECT_LT(counts.verified, counts.considered) << "the second block meets a threshold";
}

}  // namespace
}  // namespace nearfield
