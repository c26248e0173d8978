// A caller's type and metric, with a function for devices: reference, CPU and device agree to the
// bit.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/pivot_index.hpp>

#include "core/random.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield::test {
namespace {

// Cannot be copied byte by byte.
struct Polygon {
  std::string label;
  std::vector<std::array<double, 2>> corners;
};

}  // namespace
}  // namespace nearfield::test

namespace nearfield {

// Its corners: the label plays no part.
template <>
struct ObjectBytes<test::Polygon> {
  static constexpr std::int64_t alignment = 8;
  static std::vector<std::byte> bytes(const test::Polygon& polygon) {
    const auto corners = std::as_bytes(std::span(polygon.corners));
    return {corners.begin(), corners.end()};
  }
  static test::Polygon view(ObjectView bytes) {
    test::Polygon polygon{"", std::vector<std::array<double, 2>>(bytes.size() / 16)};
    std::copy(bytes.begin(), bytes.end(),
              std::as_writable_bytes(std::span(polygon.corners)).begin());
    return polygon;
  }
  static bool valid(ObjectView bytes) { return bytes.size() % 16 == 0; }
};

namespace test {
namespace {

constexpr std::string_view kPolygonSource = R"(
double nearfield_distance(__global const uchar* a, uint a_bytes, __global const uchar* b,
                          uint b_bytes) {
  __global const double* x = (__global const double*)a;
  __global const double* y = (__global const double*)b;
  const uint both = min(a_bytes, b_bytes) / 16;
  const uint longer = max(a_bytes, b_bytes) / 16;
  double sum = 4.0 * (longer - both);
  for (uint i = 0; i < both; ++i) {
    const double across = x[2 * i] - y[2 * i];
    const double up = x[2 * i + 1] - y[2 * i + 1];
    sum += sqrt(across * across + up * up);
  }
  return sum;
}
)";

// How far corners of the same number are apart, and 4 for each that only one has.
struct PolygonDistance {
  static constexpr std::string_view name = "polygons";
  double operator()(const Polygon& a, const Polygon& b) const {
    const std::size_t both = std::min(a.corners.size(), b.corners.size());
    const std::size_t longer = std::max(a.corners.size(), b.corners.size());
    double sum = 4.0 * static_cast<double>(longer - both);
    for (std::size_t i = 0; i < both; ++i) {
      const double across = a.corners[i][0] - b.corners[i][0];
      const double up = a.corners[i][1] - b.corners[i][1];
      sum += std::sqrt(across * across + up * up);
    }
    return sum;
  }
  std::string device_source = std::string(kPolygonSource);
};

std::vector<Polygon> some_polygons(std::int64_t count, std::uint64_t seed) {
  std::vector<Polygon> polygons;
  Random random(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    Polygon& one = polygons.emplace_back();
    one.label = "polygon " + std::to_string(i);
    one.corners.resize(static_cast<std::size_t>(random.below(6)));
    for (auto& corner : one.corners) corner = {random.uniform(), random.uniform()};
  }
  return polygons;
}

Context on_functor_device(const std::string& beside = "") {
  const char* const name = std::getenv("NEARFIELD_TEST_DEVICE");
  Context context;
  context.device = (name != nullptr ? name : "opencl") + beside;
  return context;
}

bool compiles_there() { return on_functor_device().device.starts_with("opencl"); }

using PolygonIndex = PivotIndex<Polygon, PolygonDistance>;

std::vector<std::pair<double, std::int64_t>> all_of(const std::vector<Polygon>& polygons,
                                                    const Polygon& query) {
  std::vector<std::pair<double, std::int64_t>> all;
  for (std::size_t i = 0; i < polygons.size(); ++i) {
    all.emplace_back(PolygonDistance()(query, polygons[i]), static_cast<std::int64_t>(i));
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(DeviceFunctor, AnswersAsReferenceAndCpu) {
  if (!compiles_there()) GTEST_SKIP() << "the device has no compiler";
  const std::vector<Polygon> polygons = some_polygons(3'000, 1);
  const std::vector<Polygon> queries = some_polygons(40, 2);
  for (const PivotOptions& options :
       {PivotOptions{.pool = 0}, {.pool = 12}, {.pool = 30, .kept = 6}}) {
    PolygonIndex index(PolygonDistance(), options);
    index.add(polygons);
    for (const Context& context : {on_functor_device(), on_functor_device(",cpu")}) {
      const Neighbors found = index.search(queries, {.k = 10}, context);
      const Neighbors on_cpu = index.search(queries, {.k = 10});
      EXPECT_EQ(found.ids, on_cpu.ids);
      EXPECT_EQ(found.keys, on_cpu.keys);
      EXPECT_NE(found.stats.plan.kernel.find("on the device"), std::string::npos)
          << found.stats.plan.kernel;
      const Ranges near = index.within(queries, {.radius = 1.5}, context);
      std::size_t at = 0;
      for (std::size_t query = 0; query < queries.size(); ++query) {
        const auto truth = all_of(polygons, queries[query]);
        for (std::size_t i = 0; i < 10; ++i) {
          EXPECT_EQ(std::pair(found.keys[10 * query + i], found.ids[10 * query + i]), truth[i]);
        }
        for (std::size_t i = 0; truth[i].first <= 1.5; ++i, ++at) {
          ASSERT_LT(at, near.ids.size());
          EXPECT_EQ(std::pair(near.keys[at], near.ids[at]), truth[i]);
        }
      }
      EXPECT_EQ(at, near.ids.size());
      EXPECT_EQ(index.pairs({.radius = 0.2}, context).keys, index.pairs({.radius = 0.2}).keys);
    }
  }
}

// Also after some were removed and others added, and where objects do not fit.
TEST(DeviceFunctor, AnswersAsTheIndexChanges) {
  if (!compiles_there()) GTEST_SKIP() << "the device has no compiler";
  PolygonIndex index(PolygonDistance(), {.pool = 8});
  index.add(some_polygons(20'000, 3));
  const std::vector<Polygon> queries = some_polygons(30, 4);
  Context context = on_functor_device();
  for (const std::int64_t limit : {std::int64_t{1} << 30, std::int64_t{1'400'000}}) {
    context.device_memory_limit = limit;
    EXPECT_EQ(index.search(queries, {.k = 7}, context).keys, index.search(queries, {.k = 7}).keys);
    const std::vector<std::int64_t> ids{0, 1, 2, 5'000, 19'999};
    index.index().remove(ids);
    index.add(queries);
    EXPECT_EQ(index.search(queries, {.k = 7}, context).ids, index.search(queries, {.k = 7}).ids);
  }
}

TEST(DeviceFunctor, AnswersWhereAllWereRemoved) {
  if (!compiles_there()) GTEST_SKIP() << "the device has no compiler";
  PolygonIndex index(PolygonDistance(), {.pool = 0});
  index.add(some_polygons(3, 11));
  const std::vector<std::int64_t> ids{0, 1, 2};
  index.index().remove(ids);
  const std::vector<Polygon> queries = some_polygons(2, 12);
  const Neighbors found = index.search(queries, {.k = 1}, on_functor_device());
  EXPECT_EQ(found.ids, (std::vector<std::int64_t>{kNoId, kNoId}));
}

TEST(DeviceFunctor, WhatItLeavesToTheCpuTheCpuComputes) {
  if (!compiles_there()) GTEST_SKIP() << "the device has no compiler";
  PolygonDistance metric;
  const std::size_t body = metric.device_source.find('{') + 1;
  metric.device_source.insert(body, "\n  if (a_bytes == b_bytes) return -1;");
  PolygonIndex index(metric, {.pool = 0});
  index.add(some_polygons(500, 5));
  const std::vector<Polygon> queries = some_polygons(20, 6);
  EXPECT_EQ(index.search(queries, {.k = 9}, on_functor_device()).keys,
            index.search(queries, {.k = 9}).keys);
}

void expect_functor_refused(const PolygonDistance& metric,
                            std::initializer_list<std::string_view> parts) {
  PolygonIndex index(metric, {.pool = 4});
  index.add(some_polygons(100, 7));
  const std::vector<Polygon> queries = some_polygons(2, 8);
  expect_error([&] { index.search(queries, {.k = 3}, on_functor_device()); },
               ErrorCode::invalid_argument, parts);
  EXPECT_TRUE(index.search(queries, {.k = 3}).exact);  // as ever
}

TEST(DeviceFunctor, OneThatDiffersIsRefusedWithTheNumbers) {
  if (!compiles_there()) GTEST_SKIP() << "the device has no compiler";
  PolygonDistance metric;
  metric.device_source.replace(metric.device_source.find("4.0"), 3, "5.0");
  expect_functor_refused(metric, {"'polygons' says ", "on the CPU", "same operations"});
}

TEST(DeviceFunctor, OneThatCannotBeCompiledIsRefusedWithTheLine) {
  if (!compiles_there()) GTEST_SKIP() << "the device has no compiler";
  PolygonDistance metric;
  metric.device_source.replace(metric.device_source.find("sqrt"), 4, "root");
  expect_functor_refused(metric, {"cannot compile", "root"});
  metric.device_source = "double another_distance(void) { return 0; }";
  expect_functor_refused(metric, {"cannot link", "nearfield_distance(__global const uchar*, uint"});
}

TEST(DeviceFunctor, ADeviceWithoutCompilerSaysSo) {
  if (compiles_there()) GTEST_SKIP() << "the device has a compiler";
  PolygonIndex index(PolygonDistance(), {.pool = 4});
  index.add(some_polygons(100, 9));
  expect_error([&] { index.search(some_polygons(2, 10), {.k = 3}, on_functor_device()); },
               ErrorCode::unsupported, {"has no compiler", "leave that out"});
}

}  // namespace
}  // namespace test
}  // namespace nearfield
