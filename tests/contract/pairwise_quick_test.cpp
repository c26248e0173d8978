// pairwise on every ISA and device, against the oracle's search for all rows.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "tests/contract/backends.hpp"
#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield::contract {
namespace {

constexpr std::int64_t kPairwiseRows = 37;  // no multiple of a tile
struct PairwiseShape {
  std::int64_t cols;
  std::int64_t queries;  // a device makes keys of one to three in another way
};

// By place; NaN for rows that a search never returns.
std::vector<double> oracle_keys(MatrixView queries, MatrixView rows, MetricSpec metric) {
  const oracle::Answer all = oracle::knn(queries, rows, nearest(rows.rows(), metric));
  std::vector<double> keys(static_cast<std::size_t>(queries.rows() * rows.rows()), NAN);
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    for (std::int64_t i = 0; i < all.counts[static_cast<std::size_t>(query)]; ++i) {
      const auto from = static_cast<std::size_t>(query * rows.rows() + i);
      keys[static_cast<std::size_t>(query * rows.rows() + all.ids[from])] = all.keys[from];
    }
  }
  return keys;
}

void expect_keys(MatrixView queries, MatrixView rows, MetricSpec metric, const char* data) {
  const std::vector<double> want = oracle_keys(queries, rows, metric);
  for (const Backend& backend : backends()) {
    const Pairwise got = pairwise(queries, rows, {metric, true}, backend.context);
    ASSERT_EQ(got.values.size(), want.size());
    EXPECT_TRUE(got.stats.plan.kernel.ends_with("/" + backend.name)) << got.stats.plan.kernel;
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (std::isnan(want[i])) {  // of a vector that is not finite
        ASSERT_TRUE(std::isnan(got.values[i])) << got.stats.plan.kernel << ", pair " << i;
        continue;
      }
      ASSERT_EQ(std::bit_cast<std::uint64_t>(got.values[i]), std::bit_cast<std::uint64_t>(want[i]))
          << got.stats.plan.kernel << ", " << data << ", " << rows.cols() << " columns, pair " << i
          << ": " << got.values[i] << " instead of " << want[i];
    }
  }
}

TEST(Pairwise, EqualsTheOracleOnEveryBackend) {
  for (const MetricSpec metric : every_metric()) {
    if (!oracle::knows(metric)) continue;
    for (const DType dtype : types_of(info(metric).input, Types::all)) {
      for (const data::Kind kind : {data::Kind::gaussian, data::Kind::zeros, data::Kind::denormals,
                                    data::Kind::huge, data::Kind::with_non_finite}) {
        for (const auto [cols, count] :
             {PairwiseShape{1, 5}, {8, 1}, {31, 5}, {31, 3}, {77, 2}, {77, 5}}) {
          const Matrix queries = data::make_matrix({kind, dtype, count, cols, 1});
          const Matrix rows = data::make_matrix({kind, dtype, kPairwiseRows, cols, 2});
          const data::Strided strided(rows, 40, 3);
          expect_keys(queries, strided, metric, data::to_string(kind).data());
        }
      }
    }
  }
}

TEST(Pairwise, TypesMayDiffer) {
  const Matrix bytes =
      data::make_matrix({data::Kind::small_integers, DType::u8, kPairwiseRows, 20, 1});
  const Matrix floats = data::make_matrix({data::Kind::gaussian, DType::f32, 5, 20, 1});
  expect_keys(floats, bytes, Metric::l1, "f32 and u8");
  expect_keys(bytes, floats, Metric::cosine, "u8 and f32");
}

TEST(Pairwise, ReportsWhatSearchesReport) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, kPairwiseRows, 12, 1});
  for (const MetricSpec metric :
       {MetricSpec(Metric::euclidean), MetricSpec(Metric::cosine), lp(3)}) {
    const Neighbors nearest_rows = knn(rows, rows, nearest(kPairwiseRows, metric));
    for (const Backend& backend : backends()) {
      const Pairwise got = pairwise(rows, rows, {metric}, backend.context);
      for (std::int64_t query = 0; query < kPairwiseRows; ++query) {
        for (std::int64_t i = 0; i < kPairwiseRows; ++i) {
          const std::int64_t row = nearest_rows.ids_of(query)[static_cast<std::size_t>(i)];
          ASSERT_EQ(static_cast<float>(got.values_of(query)[static_cast<std::size_t>(row)]),
                    nearest_rows.distances_of(query)[static_cast<std::size_t>(i)])
              << to_string(metric) << " on " << backend.name;
        }
      }
    }
  }
}

TEST(Pairwise, SmallMemoryOfADeviceDoesNotMatter) {
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 40, 33, 1});
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 300, 33, 2});
  const std::vector<double> want = pairwise(queries, rows).values;
  for (Backend& backend : backends()) {
    for (const std::int64_t limit : {10'000, 50'000}) {
      if (!backend.context.device.empty()) backend.context.device_memory_limit = limit;
      EXPECT_EQ(pairwise(queries, rows, {}, backend.context).values, want) << backend.name;
    }
  }
}

TEST(Pairwise, ReportsProgressAndStops) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 400, 30, 1});
  for (Backend& backend : backends()) {
    std::int64_t last = 0;
    backend.context.progress = [&](const Progress& progress) {
      EXPECT_GE(progress.done, last) << backend.name;
      EXPECT_EQ(progress.total, 160'000) << backend.name;
      last = progress.done;
    };
    if (!backend.context.device.empty()) backend.context.device_memory_limit = 100'000;
    pairwise(rows, rows, {}, backend.context);
    EXPECT_EQ(last, 160'000) << backend.name;

    backend.context.progress = [&](const Progress&) { backend.context.cancel.cancel(); };
    try {
      pairwise(rows, rows, {}, backend.context);
      pairwise(rows, rows, {}, backend.context);  // small: the first may have been done
      ADD_FAILURE() << backend.name << " did not stop";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled) << backend.name;
    }
  }
}

TEST(Pairwise, NothingIsFine) {
  const Matrix rows(DType::f32, 3, 4);
  for (const Backend& backend : backends()) {
    EXPECT_TRUE(pairwise(Matrix(DType::f32, 0, 4), rows, {}, backend.context).values.empty());
    EXPECT_TRUE(pairwise(rows, Matrix(DType::f32, 0, 4), {}, backend.context).values.empty());
  }
}

}  // namespace
}  // namespace nearfield::contract
