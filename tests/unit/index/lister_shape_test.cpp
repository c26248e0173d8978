// How listers of a device share its memory, without a device.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "index/pivot/gpu/metric_devices.hpp"
#include "tests/unit/index/short_device.hpp"
#include "tests/unit/index/some_metric_state.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kShapeRows = 150'000;
constexpr std::int64_t kShapeCols = 2;
constexpr std::int64_t kShapeChunk = 4 * test::kIdleThreads;

struct ShapedTask {
  const MetricState& state;
  DeviceDistance distance;
  std::vector<ObjectView> queries;

  ListerTask task() const {
    ListerTask task{state, std::ssize(queries), distance, {}};
    if (distance != DeviceDistance::none) {
      task.keyed = KeyedSearch{distance, queries, Isa::scalar};
    }
    return task;
  }
  std::optional<ListerShape> shape(std::int64_t limit, std::int64_t largest_buffer) const {
    gpu::Facts facts;
    facts.largest_buffer = largest_buffer;
    try {
      return ListerShape::of(task(), limit, facts, kShapeChunk, "opencl:0");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::memory_limit);
      return {};
    }
  }
};

std::int64_t bytes_of_shaped_copy(const ShapedTask& asked) {
  const std::int64_t object = kShapeCols * static_cast<std::int64_t>(sizeof(double)) + 4;
  return kShapeRows * (kept_row_bytes(asked.state.filter) +
                       (asked.distance == DeviceDistance::none ? 0 : object));
}

// Without what is small: requests, totals, and the queries themselves.
std::int64_t bytes_of_shaped_lister(const ShapedTask& asked, const ListerShape& shape) {
  const bool keyed = asked.distance != DeviceDistance::none;
  std::int64_t bytes = shape.queries * (256 * 2 + 8 + 256 * 4 + kShapeRows / kShapeChunk * 4);
  bytes += shape.list_room * (keyed ? 4 + 1 + 16 : 4 + 1);
  if (!shape.streamed) return bytes;
  bytes += std::min(kShapeRows, shape.run_rows) * kept_row_bytes(asked.state.filter);
  return bytes + (keyed ? shape.run_object_bytes : 0);
}

void expect_shapes_within_limits(const ShapedTask& asked, std::int64_t largest_buffer) {
  bool streamed = false;
  bool whole = false;
  for (std::int64_t limit = 20'000; limit < 100'000'000; limit += limit / 8) {
    SCOPED_TRACE(limit);
    const std::optional<ListerShape> shape = asked.shape(limit, largest_buffer);
    ASSERT_TRUE(shape || !(streamed || whole)) << "less was enough";
    if (!shape) continue;
    EXPECT_FALSE(shape->streamed && whole) << "less was enough for a copy";
    (shape->streamed ? streamed : whole) = true;
    const std::int64_t copy = shape->streamed ? 0 : bytes_of_shaped_copy(asked);
    EXPECT_LE(copy + ListerShape::kListers * bytes_of_shaped_lister(asked, *shape), limit);
    EXPECT_GE(shape->list_room, std::min(kShapeRows, shape->run_rows)) << "a run's list must fit";
    EXPECT_LE(shape->list_room * 8, largest_buffer);
    EXPECT_LE(shape->run_rows * kept_row_bytes(asked.state.filter), largest_buffer);
    EXPECT_LE(shape->run_object_bytes, largest_buffer);
  }
  EXPECT_TRUE(streamed);
  EXPECT_TRUE(whole);
}

TEST(ListerShape, TakesNoMoreThanTheLimit) {
  const MetricState state = test::some_metric_state("lp:2", {.pool = 8}, kShapeRows, kShapeCols, 1);
  const std::vector<ObjectView> queries(64, state.objects.view(0));
  for (const DeviceDistance distance : {DeviceDistance::none, DeviceDistance::l2}) {
    for (const std::int64_t largest_buffer : {1 << 20, 1 << 30}) {
      expect_shapes_within_limits({state, distance, queries}, largest_buffer);
    }
  }
}

// Of a row of a list, the host has its place, key and number, and row and key twice over.
TEST(ListerShape, CountsWhatTheHostHas) {
  const MetricState state = test::some_metric_state("lp:2", {.pool = 0}, kShapeRows, kShapeCols, 2);
  const std::vector<ObjectView> queries(64, state.objects.view(0));
  const ShapedTask asked{state, DeviceDistance::l2, queries};
  const std::optional<ListerShape> most = asked.shape(1 << 30, 1 << 30);
  ASSERT_TRUE(most);
  EXPECT_GT(most->list_room, kShapeRows);
  EXPECT_GE(most->host_bytes(asked.task()),
            most->list_room * (8 + 8 + 4 + 2 * (4 + 8)) + kShapeRows * kShapeCols * 8);
  ListerShape less = *most;
  less.cut_lists(0, asked.task());
  EXPECT_EQ(less.list_room, kShapeRows) << "one query's must fit";
  EXPECT_LT(less.host_bytes(asked.task()), most->host_bytes(asked.task()));
}

TEST(ListerShape, WhatIsOpenedFitsTheLimit) {
  const MetricState state = test::some_metric_state("lp:2", {.pool = 8}, kShapeRows, kShapeCols, 3);
  const std::vector<ObjectView> queries(64, state.objects.view(0));
  for (const DeviceDistance distance : {DeviceDistance::none, DeviceDistance::l2}) {
    const ShapedTask asked{state, distance, queries};
    for (std::int64_t limit = 4'000'000; limit < 100'000'000; limit *= 2) {
      const std::optional<ListerShape> shape = asked.shape(limit, 1 << 30);
      ASSERT_TRUE(shape);
      test::ShortDevice device(limit);
      {
        DeviceListers on{"opencl:0", device, asked.task(), limit, kShapeChunk, *shape};
        open_listers(on, Context());
        EXPECT_EQ(on.shape.streamed, shape->streamed);
        EXPECT_FALSE(device.refused) << limit;
      }
      state.copies->forget(&device);
    }
  }
}

// There is room for the copy, and none for lists beside it.
TEST(ListerShape, WhereListsDoNotFitBesideTheCopyItIsStreamed) {
  const MetricState state = test::some_metric_state("lp:2", {.pool = 8}, kShapeRows, kShapeCols, 4);
  const std::vector<ObjectView> queries(64, state.objects.view(0));
  const ShapedTask asked{state, DeviceDistance::l2, queries};
  const std::int64_t says = 100'000'000;
  const std::optional<ListerShape> shape = asked.shape(says, 1 << 30);
  ASSERT_TRUE(shape && !shape->streamed);
  test::ShortDevice device(bytes_of_shaped_copy(asked) + 3'000'000);
  DeviceListers on{"opencl:0", device, asked.task(), says, kShapeChunk, *shape};
  open_listers(on, Context());
  EXPECT_TRUE(device.refused);
  EXPECT_TRUE(on.shape.streamed);
  EXPECT_EQ(std::ssize(on.listers), ListerShape::kListers);
}

}  // namespace
}  // namespace nearfield
