// Bounds that a device makes before there are thresholds: no key is above them, and they are close.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/nearfield.hpp>

#include "device/gpu/open.hpp"
#include "filter/gpu/byte_finder.hpp"
#include "filter/gpu/half_finder.hpp"
#include "filter/gpu/key_finder.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kQueries = 33;
constexpr std::int64_t kRows = 300;
constexpr std::int64_t kCols = 70;

class DeviceBounds : public testing::Test {
 protected:
  // Of all pairs, the keys that the bounds stand for.
  static std::vector<double> bounds_of(BoundedFinder& finder, const Matrix& queries,
                                       const Matrix& rows) {
    gpu::Device& device = opened().device;
    const auto queue = device.make_queue(0);
    finder.take_queries(*queue, queries);
    finder.bring_rows(*queue, rows);
    finder.use_rows(*queue);
    std::vector<std::byte> terms(static_cast<std::size_t>(kQueries * finder.limit_bytes()));
    finder.write_terms({0, kQueries}, terms.data());
    const auto on_device = device.allocate(std::ssize(terms));
    queue->write(*on_device, terms.data());
    std::vector<float> bounds(kQueries * kRows);
    const auto found = device.allocate(std::ssize(bounds) * 4);
    finder.bounds(*queue, {{0, kQueries}, {0, kRows}}, *on_device, *found);
    queue->read(*found, bounds.data());
    queue->wait();
    std::vector<double> keys;
    for (const float bound : bounds) {
      keys.push_back(std::isfinite(bound) ? finder.key_of_bound(static_cast<double>(bound))
                                          : std::numeric_limits<double>::infinity());
    }
    return keys;
  }

  // How far above a key a bound is at most, of the largest key.
  template <class Finder, class... More>
  static void expect_above(MetricSpec metric, DType dtype, data::Kind kind, double most_above,
                           More... more) {
    SCOPED_TRACE(to_string(metric) + " of " + std::string(to_string(dtype)) + ", " +
                 std::string(data::to_string(kind)));
    const Matrix queries = data::make_matrix({kind, dtype, kQueries, kCols, 1});
    const Matrix rows = data::make_matrix({kind, dtype, kRows, kCols, 2});
    const DeviceSearch search{.metric = metric,
                              .queries = dtype,
                              .rows = dtype,
                              .cols = kCols,
                              .query_count = kQueries,
                              .row_count = kRows,
                              .first_of_any = 0,
                              .threads = 1,
                              .most_found = kQueries * kRows};
    Finder finder(opened().device, search, more...);
    const std::vector<double> bounds = bounds_of(finder, queries, rows);
    KnnOptions options;
    options.metric = metric;
    options.k = kRows;
    const Neighbors all = knn(queries, rows, options);
    double largest = 0;
    for (const double key : all.keys)
      largest = std::isfinite(key) ? std::max(largest, std::abs(key)) : largest;
    for (std::int64_t query = 0; query < kQueries; ++query) {
      for (std::int64_t i = 0; i < all.counts[static_cast<std::size_t>(query)]; ++i) {
        const double key = all.keys_of(query)[static_cast<std::size_t>(i)];
        const std::int64_t row = all.ids_of(query)[static_cast<std::size_t>(i)];
        const double bound = bounds[static_cast<std::size_t>(query * kRows + row)];
        ASSERT_GE(bound, key) << "query " << query << ", row " << row;
        if (kind != data::Kind::gaussian) continue;
        ASSERT_LE(bound, key + most_above * largest) << "query " << query << ", row " << row;
      }
    }
  }

  static gpu::Opened opened() { return gpu::open_device(std::getenv("NEARFIELD_TEST_DEVICE")); }
};

TEST_F(DeviceBounds, AreNotBelowAnyKey) {
  for (const data::Kind kind : data::kinds()) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::cosine, Metric::inner_product}) {
      expect_above<HalfFinder>({metric}, DType::f32, kind, 0.01);
      expect_above<HalfFinder>({metric}, DType::i8, kind, 0.01);
      expect_above<KeyFinder>({metric}, DType::f32, kind, 1e-6, false);
    }
    expect_above<KeyFinder>({Metric::linf}, DType::f64, kind, 1e-6, false);
    expect_above<ByteFinder>({Metric::sqeuclidean}, DType::u8, kind, 1e-6, false);
    expect_above<ByteFinder>({Metric::inner_product}, DType::i8, kind, 1e-6, false);
  }
}

}  // namespace
}  // namespace nearfield
