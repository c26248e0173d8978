// Sums in float32 against the keys: what they drop is above the threshold, and they drop most of
// it.
#include "search/far_rows.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "core/decode.hpp"
#include "distance/kernels.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

using Exact = long double;

constexpr std::array kTypes = {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8};
constexpr std::int64_t kRows = FarRows::kAtOnce / 2 - 3;  // not a whole number of any kernel's rows

std::vector<double> decoded(const Matrix& matrix, std::int64_t row) {
  std::vector<double> values(static_cast<std::size_t>(matrix.cols()));
  decode_row(matrix.dtype(), matrix.row(row), matrix.cols(), values.data());
  return values;
}

RowList list(const Matrix& matrix, const std::uint32_t* picks = nullptr) {
  return {matrix.row(0), matrix.view().stride_bytes(), picks, matrix.rows()};
}

// By the kernels that define them.
std::vector<double> keys_of(Metric metric, const Matrix& query, const Matrix& base, Isa isa) {
  PreparedQuery prepared(query.dtype(), query.cols(), isa);
  prepared.load(query.row(0));
  std::vector<double> keys(static_cast<std::size_t>(base.rows()));
  const MetricKernels& kernels = distance_kernels(isa).metrics[static_cast<std::size_t>(metric)];
  kernels.keys[static_cast<std::size_t>(base.dtype())](
      {.query = prepared.data(),
       .rows = base.row(0),
       .stride = base.view().stride_bytes(),
       .row_bytes = row_bytes(base.dtype(), base.cols()),
       .picks = nullptr,
       .count = base.rows(),
       .p = 2,
       .keys = keys.data()});
  return keys;
}

struct Tested {
  std::int64_t pairs = 0;  // under a threshold that something could be said of
  std::int64_t close = 0;
  std::int64_t near = 0;
};

// Each row's own key is a threshold in turn: a row at the threshold may be in the answer.
Tested test_keys(Metric metric, const Matrix& query, const Matrix& base, Isa isa) {
  const std::vector<double> keys = keys_of(metric, query, base, isa);
  FarRows far(metric, query.dtype(), base.dtype(), base.cols(), isa);
  Tested tested;
  for (const double threshold : keys) {
    if (!far.load(decoded(query, 0), threshold)) continue;
    std::array<std::uint32_t, FarRows::kAtOnce> near;
    const std::int64_t found = far.near(list(base), near.data());
    std::vector<bool> is_near(keys.size());
    for (std::int64_t i = 0; i < found; ++i) is_near[near[static_cast<std::size_t>(i)]] = true;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!(keys[i] <= threshold)) continue;
      ++tested.close;
      EXPECT_TRUE(is_near[i]) << "row " << i << " of key " << keys[i] << " under " << threshold;
    }
    tested.pairs += base.rows();
    tested.near += found;
  }
  return tested;
}

TEST(FarRows, NothingNearIsDropped) {
  for (const Isa isa : available_isas()) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
      for (const DType dtype : kTypes) {
        for (const data::Kind kind : data::kinds()) {
          for (const std::int64_t cols : {1, 37, 300}) {
            SCOPED_TRACE(fmt::format("{} {} {} {} {}", to_string(isa), to_string(metric),
                                     to_string(dtype), data::to_string(kind), cols));
            const Matrix base = data::make_matrix({kind, dtype, kRows, cols, 1});
            const Matrix query = data::make_matrix({kind, dtype, 1, cols, 2});
            if (!row_is_finite(dtype, query.row(0), cols)) continue;
            test_keys(metric, query, base, isa);
          }
        }
      }
    }
  }
}

TEST(FarRows, OfOrdinaryRowsLittleMoreIsLeftThanIsNear) {
  for (const Isa isa : available_isas()) {
    if (isa == Isa::scalar) continue;  // one lane does not pay: there it says nothing
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const Matrix base = data::make_matrix({data::Kind::gaussian, dtype, kRows, 300, 1});
        const Matrix query = data::make_matrix({data::Kind::gaussian, dtype, 1, 300, 2});
        const Tested tested = test_keys(metric, query, base, isa);
        EXPECT_EQ(tested.pairs, kRows * kRows);
        EXPECT_LE(tested.near, tested.close + tested.close / 100)
            << to_string(isa) << ' ' << to_string(metric) << ' ' << to_string(dtype);
      }
    }
  }
}

TEST(FarRows, PicksAreCountedFromTheFirst) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, kRows, 20, 1});
  std::vector<std::uint32_t> picks(kRows);
  std::iota(picks.rbegin(), picks.rend(), 0);
  for (const Isa isa : available_isas()) {
    const std::vector<double> keys = keys_of(Metric::sqeuclidean, base, base, isa);
    FarRows far(Metric::sqeuclidean, DType::f32, DType::f32, 20, isa);
    if (!far.load(decoded(base, 0), keys[1])) continue;
    std::array<std::uint32_t, FarRows::kAtOnce> forward;
    std::array<std::uint32_t, FarRows::kAtOnce> backward;
    const std::int64_t found = far.near(list(base), forward.data());
    ASSERT_EQ(far.near(list(base, picks.data()), backward.data()), found);
    for (std::int64_t i = 0; i < found; ++i) {
      EXPECT_EQ(picks[backward[static_cast<std::size_t>(i)]],
                forward[static_cast<std::size_t>(found - 1 - i)]);
    }
  }
}

TEST(FarRows, SaysNothingWhereFloat32DoesNotHold) {
  const std::vector<double> query(8, 1.0);
  const Isa isa = available_isas().back();
  for (const double threshold : {0.0, -1.0, 1e-30, 1e35, double{INFINITY}, double{-INFINITY}}) {
    EXPECT_FALSE(
        FarRows(Metric::sqeuclidean, DType::f32, DType::f32, 8, isa).load(query, threshold));
  }
  EXPECT_FALSE(FarRows(Metric::sqeuclidean, DType::f64, DType::f32, 8, isa).load(query, 1));
  EXPECT_FALSE(FarRows(Metric::sqeuclidean, DType::f32, DType::f64, 8, isa).load(query, 1));
  EXPECT_FALSE(FarRows(Metric::l1, DType::f32, DType::f32, 8, isa).load(query, 1));
  FarRows cosine(Metric::cosine, DType::f32, DType::f32, 8, isa);
  EXPECT_FALSE(cosine.load(std::vector<double>(8, 0.0), 0.5));
  EXPECT_FALSE(cosine.load(std::vector<double>(8, 1e-12), 0.5));
  EXPECT_FALSE(cosine.load(std::vector<double>(8, 1e16), 0.5));
}

// rough_error against sums in long double, on values whose roundings all go the same way.
TEST(RoughSums, AreWithinTheirError) {
  for (const Isa isa : available_isas()) {
    const RoughKernels& kernels = rough_kernels(isa);
    const auto type = static_cast<std::size_t>(DType::f32);
    if (kernels.products[type] == nullptr) continue;
    for (const std::int64_t cols : {1, 17, 1000, 20'000}) {
      for (const float value : {0.1F, 1.9999999F, 3e-8F, 7e9F}) {
        const auto padded = static_cast<std::size_t>(cols + kRoughParts);
        std::vector<float> query(padded, 0);
        std::fill_n(query.begin(), cols, value);
        const std::vector<float> row(padded, -value / 3);
        float distance = 0;
        float product = 0;
        float squares = 0;
        RoughJob job{.query = query.data(),
                     .rows = reinterpret_cast<const std::byte*>(row.data()),
                     .stride = 0,
                     .cols = cols,
                     .picks = nullptr,
                     .count = 1,
                     .sums = &distance,
                     .squares = &squares};
        kernels.distances[type](job);
        job.sums = &product;
        kernels.products[type](job);
        const Exact x = value;
        const Exact y = row[0];
        const Exact error = rough_error(cols) / 2;  // the other half is for what is not rounding
        const auto near = [&](float sum, Exact term) {
          EXPECT_LE(std::abs(sum - cols * term), error * cols * std::abs(term))
              << to_string(isa) << ' ' << cols << ' ' << value;
        };
        near(distance, (x - y) * (x - y));
        near(product, x * y);
        near(squares, y * y);
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
