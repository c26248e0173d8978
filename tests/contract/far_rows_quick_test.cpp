// Rows that float32 proves too far have no key: with blocks so small that thresholds are there from
// the start, on every ISA, against the oracle.
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>
#include <nearfield/nearfield.hpp>

#include "search/plan.hpp"
#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield::contract {
namespace {

// Every row is verified, in blocks of a few.
void use_small_blocks() {
  default_tuning() = Tuning();
  default_tuning().block_pairs = 100;
  default_tuning().row_tile_bytes = 1;
  default_tuning().tiles.least_queries = std::int64_t{1} << 40;
}

template <class Check>
void for_every_input(const Check& check) {
  for (const MetricSpec metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
    for (const DType dtype : types_of(MetricInput::numbers, Types::all)) {
      for (const data::Kind kind : data::kinds()) {
        SCOPED_TRACE(
            fmt::format("{} {} {}", to_string(metric), to_string(dtype), data::to_string(kind)));
        const std::int64_t cols = metric == Metric::inner_product ? 261 : 21;  // where it pays
        check(metric, data::make_matrix({kind, dtype, 3, cols, 2}),
              data::make_matrix({kind, dtype, 200, cols, 1}));
      }
    }
  }
}

TEST(FarRows, KnnEqualsTheOracle) {
  for_every_input([](MetricSpec metric, const Matrix& queries, const Matrix& base) {
    const KnnOptions options = nearest(5, metric);
    const oracle::Answer want = oracle::knn(queries, base, options);
    for (const Isa isa : swept_isas()) {
      use_small_blocks();
      EXPECT_EQ(mismatch(knn(queries, base, options, forced(isa)), want, metric), "")
          << to_string(isa);
    }
  });
  default_tuning() = Tuning();
}

TEST(FarRows, WithinEqualsTheOracle) {
  for_every_input([](MetricSpec metric, const Matrix& queries, const Matrix& base) {
    const KnnOptions options = nearest(5, metric);
    const oracle::Answer closest = oracle::knn(queries, base, options);
    if (closest.counts[0] == 0) return;
    // On the edge: what a found row itself reports.
    const double radius =
        reported_value(metric, closest.keys[static_cast<std::size_t>(closest.counts[0] - 1)]);
    if (!std::isfinite(radius)) return;
    const oracle::RangeAnswer want = oracle::within(queries, base, radius, options);
    for (const Isa isa : swept_isas()) {
      use_small_blocks();
      const WithinOptions ball{.radius = radius, .metric = metric};
      EXPECT_EQ(mismatch(within(queries, base, ball, forced(isa)), want), "") << to_string(isa);
    }
  });
  default_tuning() = Tuning();
}

}  // namespace
}  // namespace nearfield::contract
