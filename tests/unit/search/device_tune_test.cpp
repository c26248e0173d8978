// A device is tuned, and what was measured is used. The device is named by NEARFIELD_TEST_DEVICE.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <nearfield/nearfield.hpp>

#include "device/tuning_file.hpp"
#include "search/tune.hpp"
#include "select/gpu/selectors.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/device/named_tuning.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

// Few, and small: compiling all of the kernels takes longer than all else that the tests do.
const TuneWork kLittle{.selection = {{3, 5000, 1, 2}, {1, 5000, 1, 2500}},
                       .search = {{20, 512, 16, 3}},
                       .query_batch = {{300, 512, 16, 3}},
                       .seconds = 0.001};

class DeviceTune : public testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("NEARFIELD_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "NEARFIELD_TEST_DEVICE names no device to test on";
    context_.device = device;
  }

  DeviceInfo info() const {
    for (const DeviceInfo& device : devices().devices) {
      if (device.id.starts_with(context_.device)) return device;
    }
    return {};
  }

  // As if `name` were the fastest, whatever is selected.
  TuningTable made_up(const std::string& name) const {
    TuningPoint point;
    for (const DeviceSelector& selector : device_selectors()) {
      point.timings.push_back({std::string(selector.name), {selector.name == name ? 0.5 : 1}});
    }
    return {info().name, info().driver, std::string(version()), "", {point}, {}, {}};
  }

  Context context_;
};

TEST_F(DeviceTune, MeasuresEveryCandidateThreeTimes) {
  std::vector<std::int64_t> heard;
  context_.progress = [&](const Progress& progress) {
    heard.push_back(progress.done);
    EXPECT_EQ(progress.total, 4);
  };
  const TuningTable table = tune(kLittle, context_);
  EXPECT_EQ(table.device, info().name);
  EXPECT_EQ(table.driver, info().driver);
  EXPECT_EQ(table.version, version());
  EXPECT_EQ(table.date.size(), std::string("2026-11-16T22:00:00Z").size());
  ASSERT_EQ(table.selection.size(), 2U);
  EXPECT_EQ(table.selection[0].timings.size(), 11U) << "every selector";
  EXPECT_EQ(table.selection[1].timings.size(), 5U) << "those that take 2,500";
  ASSERT_EQ(table.search.size(), 1U);
  EXPECT_GE(table.search[0].timings.size(), 2U);
  EXPECT_EQ(table.search[0].timings[0].name, "keys");
  EXPECT_GE(table.search[0].shape.rows, 256);
  ASSERT_EQ(table.query_batch.size(), 1U);
  EXPECT_EQ(table.query_batch[0].timings[0].name, "256");
  for (const auto* const points : {&table.selection, &table.search, &table.query_batch}) {
    for (const TuningPoint& point : *points) {
      for (const Timing& timing : point.timings) EXPECT_EQ(timing.seconds.size(), 3U);
    }
  }
  EXPECT_EQ(heard.back(), 4);
  EXPECT_EQ(format_tuning(parse_tuning("t.json", format_tuning(table))), format_tuning(table));
}

TEST_F(DeviceTune, IsUsed) {
  const Matrix values = data::make_matrix({data::Kind::gaussian, DType::f32, 3, 500, 1});
  const Selected expected = select_k(values, {.k = 2});
  EXPECT_EQ(select_k(values, {.k = 2}, context_).stats.plan.selector, "bits");
  for (const std::string name : {"merge_queue", "full_sort"}) {
    const test::NamedTuning named(made_up(name));
    const Selected found = select_k(values, {.k = 2}, context_);
    EXPECT_EQ(found.stats.plan.selector, name);
    EXPECT_EQ(found.ids, expected.ids);
  }
}

TEST_F(DeviceTune, DecidesOnTheQueriesOfABlock) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 600, 16, 1});
  TuningTable table{info().name, info().driver, std::string(version()), "", {}, {}, {}};
  EXPECT_GT(plan_knn(MatrixRows(rows), MatrixRows(rows), {}, context_).query_tile, 256);
  table.query_batch = {
      {{600, 600, 16, 10}, {{"256", {1}}, {"1024", {2}}, {"4096", {2}}, {"16384", {2}}}}};
  const test::NamedTuning named(table);
  EXPECT_LE(plan_knn(MatrixRows(rows), MatrixRows(rows), {}, context_).query_tile, 256);
}

TEST_F(DeviceTune, OfAnotherDeviceIsNotUsedAndThePlanSaysSo) {
  const Matrix values = data::make_matrix({data::Kind::gaussian, DType::f32, 3, 500, 1});
  TuningTable table = made_up("full_sort");
  table.device = "another card";
  const test::NamedTuning named(table);
  const Selected found = select_k(values, {.k = 2}, context_);
  EXPECT_EQ(found.stats.plan.selector, "bits");
  const std::string note = "the tuning of '" + named.path() +
                           "' is not used: it was made for another card, driver " + table.driver;
  EXPECT_NE(found.stats.plan.note.find(note), std::string::npos) << found.stats.plan.note;
  const Plan plan = plan_knn(MatrixRows(values), MatrixRows(values), {}, context_);
  EXPECT_NE(plan.note.find(note), std::string::npos) << plan.note;
}

TEST_F(DeviceTune, ThatIsWrongIsAnErrorOfWhatRunsThere) {
  const test::NamedTuning named("{}");
  const Matrix values = data::make_matrix({data::Kind::gaussian, DType::f32, 3, 500, 1});
  const auto refused = [](const auto& call) {
    test::expect_error(call, ErrorCode::corrupt_file, {"NEARFIELD_TUNING", "nearfield tune"});
  };
  refused([&] { select_k(values, {.k = 2}, context_); });
  refused([&] { knn(values, values, {}, context_); });
  refused([&] { pairwise(values, values, {}, context_); });
  select_k(values, {.k = 2});  // the CPU has none
}

// Or what it chooses would be what is measured, and a damaged one could not be made again.
TEST_F(DeviceTune, DoesNotMeasureWhatATableDecides) {
  for (const std::string& text : {format_tuning(made_up("full_sort")), std::string("{}")}) {
    const test::NamedTuning named(text);
    test::expect_error([&] { tune(TuneOptions{}, context_); }, ErrorCode::invalid_argument,
                       {"NEARFIELD_TUNING", named.path(), "unset it"});
  }
}

TEST_F(DeviceTune, LeavesOutWhatDoesNotFit) {
  // Sorting 3 x 5,000 values as a whole takes 240,000 beside them.
  context_.device_memory_limit = 200'000;
  TuneWork selections = kLittle;
  selections.search.clear();
  selections.query_batch.clear();
  const TuningTable table = tune(selections, context_);
  ASSERT_EQ(table.selection.size(), 1U);
  EXPECT_EQ(table.selection[0].shape, kLittle.selection[1]);
}

TEST_F(DeviceTune, CanBeStopped) {
  context_.cancel.cancel();
  test::expect_error([&] { tune(TuneOptions{.effort = TuneEffort::quick}, context_); },
                     ErrorCode::cancelled, {});
  context_.cancel = {};
  context_.deadline = std::chrono::steady_clock::now();
  test::expect_error([&] { tune(TuneOptions{.effort = TuneEffort::quick}, context_); },
                     ErrorCode::deadline_exceeded, {});
}

TEST_F(DeviceTune, TakesOneDeviceAndNoLimitOfTheHost) {
  const auto refused = [](const Context& context, ErrorCode code, std::string_view says) {
    test::expect_error([&] { tune(TuneOptions{}, context); }, code, {says});
  };
  refused({}, ErrorCode::invalid_argument, "name one of devices()");
  refused({.device = context_.device + ",cpu"}, ErrorCode::unsupported, "one device at a time");
  context_.memory_limit = 1 << 30;
  refused(context_, ErrorCode::unsupported, "1073741824");
}

}  // namespace
}  // namespace nearfield
