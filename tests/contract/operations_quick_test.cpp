// Every operation on every metric, every type and every ISA, against the oracle. What one operation
// alone can get wrong is in a file of its own.
#include <gtest/gtest.h>

#include <vector>

#include <fmt/format.h>
#include <nearfield/nearfield.hpp>

#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield::contract {
namespace {

struct Operation {
  MetricSpec metric;
  DType dtype;
  data::Kind kind;

  Matrix rows(std::int64_t count, std::uint64_t seed) const {
    return data::make_matrix({kind, dtype, count, 19, seed});
  }
};

std::vector<Operation> everything() {
  std::vector<Operation> all;
  for (const MetricSpec metric : every_metric()) {
    if (!oracle::knows(metric)) continue;  // EveryMetricHasAnOracle fails for it
    for (const DType dtype : types_of(info(metric).input, Types::all)) {
      // Ordinary values, and ties at every rank.
      all.push_back({metric, dtype, data::Kind::gaussian});
      all.push_back({metric, dtype, data::Kind::small_integers});
    }
  }
  return all;
}

std::string where(const Operation& s, Isa isa) {
  return fmt::format("{} {} {} {}", to_string(s.metric), to_string(s.dtype),
                     data::to_string(s.kind), to_string(isa));
}

// A radius that cuts through what is found: the value of the middle one.
double middle_radius(const oracle::Answer& answer, MetricSpec metric) {
  return reported_value(metric, answer.keys[answer.keys.size() / 2]);
}

TEST(Operations, KnnGraphAndCursorEqualTheOracle) {
  for (const Operation& s : everything()) {
    const Matrix base = s.rows(45, 1);
    const Matrix queries = s.rows(4, 2);
    const MatrixRows base_rows(base), query_rows(queries);
    const oracle::Answer want = oracle::knn(queries, base, nearest(7, s.metric));
    KnnOptions others = nearest(6, s.metric);
    others.exclude_self = true;
    const oracle::Answer want_graph = oracle::knn(base, base, others);
    for (const Isa isa : swept_isas()) {
      EXPECT_EQ(mismatch(knn(queries, base, nearest(7, s.metric), forced(isa)), want, s.metric), "")
          << where(s, isa);
      const Neighbors edges = graph(base, {.k = 6, .metric = s.metric}, forced(isa));
      EXPECT_EQ(mismatch(edges, want_graph, s.metric, "graph"), "") << where(s, isa);

      KnnCursor cursor(query_rows, base_rows, nearest(1, s.metric));
      Context context = forced(isa);
      context.memory_limit = 1 << 30;  // every step is a pass
      EXPECT_EQ(mismatch(cursor.next(3, context), oracle::head_of(want, 3), s.metric, "cursor"), "")
          << where(s, isa);
      EXPECT_EQ(mismatch(cursor.next(4, context), oracle::tail_of(want, 3), s.metric, "cursor"), "")
          << where(s, isa);
    }
  }
}

TEST(Operations, WithinAndPairsEqualTheOracle) {
  for (const Operation& s : everything()) {
    const Matrix base = s.rows(45, 1);
    const Matrix queries = s.rows(4, 2);
    const double radius = middle_radius(oracle::knn(queries, base, nearest(9, s.metric)), s.metric);
    const PairsOptions closest{.count = 20, .metric = s.metric};
    const PairsOptions close{.radius = radius, .metric = s.metric};
    const oracle::RangeAnswer want = oracle::within(queries, base, radius, nearest(0, s.metric));
    const oracle::PairAnswer want_one = oracle::pairs(base, base, true, closest);
    const oracle::PairAnswer want_two = oracle::pairs(queries, base, false, close);
    for (const Isa isa : swept_isas()) {
      const Ranges ranges =
          within(queries, base, {.radius = radius, .metric = s.metric}, forced(isa));
      EXPECT_EQ(mismatch(ranges, want), "") << where(s, isa);
      EXPECT_EQ(mismatch(pairs(base, closest, forced(isa)), want_one, "pairs of one set"), "")
          << where(s, isa);
      EXPECT_EQ(mismatch(pairs(queries, base, close, forced(isa)), want_two, "pairs of two sets"),
                "")
          << where(s, isa);
    }
  }
}

TEST(Operations, MutualEqualsTheOracle) {
  for (const Operation& s : everything()) {
    const Matrix first = s.rows(20, 1);
    const Matrix second = s.rows(25, 2);
    const oracle::PairAnswer want_one = oracle::mutual(second, second, true, s.metric);
    const oracle::PairAnswer want_two = oracle::mutual(first, second, false, s.metric);
    for (const Isa isa : swept_isas()) {
      const MutualOptions options{.metric = s.metric};
      EXPECT_EQ(mismatch(mutual(second, options, forced(isa)), want_one, "mutual of one set"), "")
          << where(s, isa);
      EXPECT_EQ(
          mismatch(mutual(first, second, options, forced(isa)), want_two, "mutual of two sets"), "")
          << where(s, isa);
    }
  }
}

}  // namespace
}  // namespace nearfield::contract
