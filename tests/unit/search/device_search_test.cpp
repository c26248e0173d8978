// Searches on a device, in every width of warps: the same bits as on the CPU. What is swept over
// all metrics, types and data is tests/show/compare_device_searches.cpp.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <nearfield/nearfield.hpp>

#include "search/plan.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

Context on_test_device() {
  Context context;
  context.device = std::getenv("NEARFIELD_TEST_DEVICE");
  return context;
}

class DeviceSearch : public testing::Test {
 protected:
  DeviceSearch() { default_tuning().device.least_half_cols = 1; }
  ~DeviceSearch() override { default_tuning() = {}; }

  void expect_same(MetricSpec metric, DType dtype, data::Kind kind, const std::string& filter,
                   std::int64_t k = 10) {
    SCOPED_TRACE(to_string(metric) + " of " + std::string(to_string(dtype)) + ", " +
                 std::string(data::to_string(kind)) + ", k = " + std::to_string(k));
    const Matrix base = data::make_matrix({kind, dtype, 900, 37, 2});
    const Matrix queries = data::make_matrix({kind, dtype, 140, 37, 1});
    KnnOptions options;
    options.metric = metric;
    options.k = k;
    const Neighbors want = knn(queries, base, options);
    const Neighbors got = knn(queries, base, options, on_test_device());
    EXPECT_EQ(oracle::difference(got, oracle::answer_of(want)), "");
    EXPECT_EQ(got.stats.plan.filter, filter);
    EXPECT_TRUE(got.exact);
  }
};

TEST_F(DeviceSearch, FindsTheSameByEveryWayOfFinding) {
  const std::string halves = "f16 products, on the device";
  const std::string bytes = "int8 products, on the device";
  const std::string two = "int8 products and the first two of them, on the device";
  const std::string keys = "keys of every row, on the device";
  for (const data::Kind kind : {data::Kind::gaussian, data::Kind::small_integers,
                                data::Kind::wild_norms, data::Kind::with_non_finite}) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
      expect_same({metric}, DType::f32, kind, halves);
      expect_same({metric}, DType::u8, kind, metric == Metric::cosine ? halves : bytes);
    }
    expect_same({Metric::sqeuclidean}, DType::u8, kind, two, 2);
    expect_same({Metric::inner_product}, DType::i8, kind, two, 1);
    expect_same({Metric::lp, 1}, DType::f32, kind, keys, 65);
    expect_same({Metric::hamming}, DType::bits, kind, keys);
  }
}

// Every metric's, in every width of warps: ties, and keys that are not finite.
TEST_F(DeviceSearch, TheFirstOfABlockAreThoseOfEveryMetric) {
  default_tuning().device.method = DeviceMethod::fused;
  const std::string first = "keys of every row and the first of them, on the device";
  for (const MetricInfo& metric : metrics()) {
    const DType dtype = metric.input == MetricInput::bits ? DType::bits : DType::f32;
    for (const data::Kind kind : {data::Kind::duplicates, data::Kind::with_non_finite}) {
      expect_same({metric.metric, metric.needs_p ? 3.0 : 0.0}, dtype, kind, first);
    }
  }
}

// Before there are thresholds, as many rows as fit are looked at for some: what is handed over is
// about what is wanted, and not all of the first rows.
TEST_F(DeviceSearch, FindsThresholdsBeforeItFindsPairs) {
  constexpr std::int64_t kQueries = 40;
  for (const auto& [method, dtype] :
       {std::pair{DeviceMethod::halves, DType::f32}, std::pair{DeviceMethod::keys, DType::f32},
        std::pair{DeviceMethod::bytes, DType::u8}}) {
    SCOPED_TRACE(to_string(method));
    default_tuning().device.method = method;
    const Matrix base = data::make_matrix({data::Kind::gaussian, dtype, 9000, 70, 2});
    const Matrix queries = data::make_matrix({data::Kind::gaussian, dtype, kQueries, 70, 1});
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
      KnnOptions options;
      options.metric = metric;
      Context context = on_test_device();
      context.memory_limit = 64 << 20;  // as large a base would be sampled without one
      const Neighbors got = knn(queries, base, options, context);
      EXPECT_EQ(oracle::difference(got, oracle::answer_of(knn(queries, base, options))), "");
      EXPECT_LT(got.stats.pairs_verified, kQueries * 200) << to_string(metric);
    }
  }
}

// The next rows are brought while these are searched, and those that were not expected after all.
TEST_F(DeviceSearch, RowsAreBroughtAhead) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 6000, 40, 2});
  for (const DeviceMethod method :
       {DeviceMethod::keys, DeviceMethod::fused, DeviceMethod::halves}) {
    SCOPED_TRACE(to_string(method));
    default_tuning().device.method = method;
    Context context = on_test_device();
    context.device_memory_limit = base.rows() * base.cols() * 4 / 4;
    const Neighbors got = graph(base, {}, context);
    EXPECT_GT(got.stats.plan.passes, 1) << "the chunks begin again";
    EXPECT_EQ(oracle::difference(got, oracle::answer_of(graph(base, {}))), "");
  }
}

TEST_F(DeviceSearch, IsCutToFitTheMemoryOfTheDevice) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 5000, 24, 2});
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 90, 24, 1});
  const Neighbors want = knn(queries, base, {});
  Context context = on_test_device();
  context.device_memory_limit = base.rows() * base.cols() * 4 / 4;
  const Neighbors got = knn(queries, base, {}, context);
  EXPECT_EQ(oracle::difference(got, oracle::answer_of(want)), "");
  EXPECT_LT(got.stats.plan.base_chunk, base.rows() / 4);
  context.device_memory_limit = 1000;
  test::expect_error([&] { knn(queries, base, {}, context); }, ErrorCode::memory_limit,
                     {"at least", "the limit is 1000"});
}

TEST_F(DeviceSearch, MatchesManyPairsAsTheCpuDoes) {
  std::vector<Matrix> images;
  for (std::uint64_t i = 0; i < 3; ++i) {
    images.push_back(data::make_matrix({data::Kind::small_integers, DType::u8, 400, 16, i}));
  }
  const MatrixFeatures features(std::vector<MatrixView>(images.begin(), images.end()));
  const std::vector<ImagePair> pairs = exhaustive_pairs(3);
  const auto matches_on = [&](const Context& context) {
    std::vector<std::vector<std::int64_t>> all(2 * pairs.size());
    match_pairs(
        features, pairs,
        [&](std::int64_t pair, const Pairs& matches) {
          all[2 * static_cast<std::size_t>(pair)] = matches.first;
          all[2 * static_cast<std::size_t>(pair) + 1] = matches.second;
        },
        {.ratio = 1.0}, context);
    return all;
  };
  const auto want = matches_on({});
  EXPECT_FALSE(want.front().empty());
  EXPECT_EQ(matches_on(on_test_device()), want);
}

// Within an infinite radius: more than there is room for at a time.
TEST_F(DeviceSearch, FindsMoreThanThereIsRoomFor) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 3000, 5, 2});
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 60, 5, 1});
  Context context = on_test_device();
  context.device_memory_limit = 256 << 10;
  const Ranges got = within(queries, base, {.radius = 1e30}, context);
  EXPECT_EQ(std::ssize(got.ids), queries.rows() * base.rows());
  EXPECT_EQ(got.keys, within(queries, base, {.radius = 1e30}).keys);
}

// The device is not asked about a million rows to find five.
TEST_F(DeviceSearch, OfFewRowsIsLeftToTheCpuAndThePlanSaysSo) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 900, 24, 2});
  const std::vector<std::int64_t> ids{3, 700, 41};
  KnnOptions options;
  options.filter = RowFilter::list(ids);
  const Neighbors got = knn(base, base, options, on_test_device());
  EXPECT_EQ(got.ids, knn(base, base, options).ids);
  EXPECT_EQ(got.stats.plan.device, "cpu");
  EXPECT_EQ(got.stats.plan.note,
            "on the CPU: 3 of 900 rows may be found, which are looked at alone");
}

TEST_F(DeviceSearch, OfPreparedRowsIsRefused) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 90, 24, 2});
  const PreparedRows prepared(base, Metric::sqeuclidean);
  const MatrixRows queries(base);
  test::expect_error([&] { knn(queries, prepared, {}, on_test_device()); }, ErrorCode::unsupported,
                     {"a prepared base does not run on devices"});
}

TEST_F(DeviceSearch, OfNoQueriesStillChecksTheBase) {
  const Matrix base = data::make_matrix({data::Kind::with_non_finite, DType::f32, 90, 24, 2});
  const Matrix queries(DType::f32, 0, 24);
  EXPECT_EQ(knn(queries, base, {}, on_test_device()).queries, 0);
  KnnOptions options;
  options.check_finite = true;
  test::expect_error([&] { knn(queries, base, options, on_test_device()); }, ErrorCode::not_finite,
                     {"base"});
}

// What it holds on the host, too: 32 bytes for each pair that is found.
TEST_F(DeviceSearch, IsCutToFitTheMemoryOfTheHost) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 5000, 24, 2});
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 90, 24, 1});
  Context context = on_test_device();
  context.memory_limit = 1 << 20;
  const Neighbors got = knn(queries, base, {}, context);
  EXPECT_EQ(got.keys, knn(queries, base, {}).keys);
  EXPECT_LE(got.stats.plan.working_bytes + got.stats.plan.result_bytes, 1 << 20);
  EXPECT_GE(got.stats.plan.query_tile, 64) << "rows are cut, not queries";
}

TEST_F(DeviceSearch, StepsOfACursorFollowEachOther) {
  const Matrix base = data::make_matrix({data::Kind::duplicates, DType::f32, 800, 24, 2});
  const Matrix queries = data::make_matrix({data::Kind::duplicates, DType::f32, 20, 24, 1});
  const MatrixRows base_rows(base);
  const MatrixRows query_rows(queries);
  KnnCursor on_cpu(query_rows, base_rows, {});
  KnnCursor on_device(query_rows, base_rows, {});
  for (const std::int64_t k : {3, 40, 7}) {
    EXPECT_EQ(
        oracle::difference(on_device.next(k, on_test_device()), oracle::answer_of(on_cpu.next(k))),
        "");
  }
}

}  // namespace
}  // namespace nearfield
