// Range search against the oracle: every metric, type and ISA.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield::contract {
namespace {

WithinOptions ball(double radius, MetricSpec metric) {
  return {.radius = radius, .metric = metric};
}

// Radii that decide: reported values that occur, their neighbours in float64, and the extremes.
std::vector<double> radii(MatrixView queries, MatrixView base, const KnnOptions& options) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> all{-1.0, 0.0, inf, -inf};
  const oracle::Answer some = oracle::knn(queries, base, options);
  for (const std::size_t i : {std::size_t{0}, some.keys.size() / 2, some.keys.size() - 1}) {
    if (some.keys.empty() || some.ids[i] < 0) continue;
    const double value = reported_value(options.metric, some.keys[i]);
    all.insert(all.end(), {value, std::nextafter(value, -inf), std::nextafter(value, inf)});
  }
  return all;
}

// Ordinary, tied, and at the edges of the number range; knn sweeps the rest with the same kernels.
constexpr std::array kKinds{data::Kind::gaussian, data::Kind::small_integers,
                            data::Kind::with_non_finite, data::Kind::huge};

TEST(Within, EqualsTheOracleOnEveryIsa) {
  for (const MetricSpec metric : every_metric()) {
    if (metric == lp(0.7)) continue;       // slow; in operations_quick_test.cpp
    if (!oracle::knows(metric)) continue;  // EveryMetricHasAnOracle fails for it
    for (const DType dtype : types_of(info(metric).input, Types::main)) {
      for (const data::Kind kind : kKinds) {
        const Matrix base = data::make_matrix({kind, dtype, 61, 19, 5});
        const Matrix queries = data::make_matrix({kind, dtype, 5, 19, 6});
        const KnnOptions options = nearest(9, metric);
        for (const double radius : radii(queries, base, options)) {
          const oracle::RangeAnswer want = oracle::within(queries, base, radius, options);
          for (const Isa isa : swept_isas()) {
            const Ranges got = within(queries, base, ball(radius, metric), forced(isa));
            ASSERT_EQ(mismatch(got, want), "")
                << to_string(isa) << ' ' << to_string(metric) << ' ' << to_string(dtype) << ' '
                << data::to_string(kind) << " radius " << radius;
          }
        }
      }
    }
  }
}

TEST(Within, ThreadsPiecesFiltersAndSelfDoNotMatter) {
  const Matrix base = data::make_matrix({data::Kind::small_integers, DType::u8, 1500, 10, 1});
  const std::vector<std::uint64_t> words(1500 / 64 + 1, 0x00FF'00FF'F0F0'1111);
  KnnOptions options = nearest(1, Metric::euclidean, RowFilter::bitset(words));
  options.exclude_self = true;
  WithinOptions ranges = ball(3.0, Metric::euclidean);
  ranges.filter = options.filter;
  ranges.exclude_self = true;
  const oracle::RangeAnswer want = oracle::within(base, base, 3.0, options);
  ASSERT_GT(want.ids.size(), 100u);
  for (const int threads : {1, 2, 7}) {
    EXPECT_EQ(mismatch(within(base, base, ranges, {.threads = threads}), want), "");
    const data::PiecewiseRows pieces(base);
    EXPECT_EQ(mismatch(within(pieces, pieces, ranges, {.threads = threads}), want), "");
  }
}

TEST(Within, EmptyInputsAreValid) {
  const Matrix none(DType::f32, 0, 4);
  const Matrix some(DType::f32, 3, 4);
  EXPECT_EQ(within(none, some, {}).offsets, std::vector<std::int64_t>{0});
  EXPECT_EQ(within(some, none, {}).offsets, (std::vector<std::int64_t>{0, 0, 0, 0}));
}

TEST(Within, ErrorsHoldTheNumbers) {
  const Matrix base(DType::f32, 2000, 4);
  test::expect_error([&] { within(base, base, {.radius = NAN}); }, ErrorCode::invalid_argument,
                     {"NaN"});
  // All rows are equal: four million results of at least 36 bytes.
  test::expect_error([&] { within(base, base, {}, {.memory_limit = 8 << 20}); },
                     ErrorCode::memory_limit, {"found", "room for", "smaller radius"});
}

}  // namespace
}  // namespace nearfield::contract
