// Indexes of objects on a device: the answers of brute force and of the CPU, to the bit.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nearfield/object_metrics.hpp>
#include <nearfield/pivot_index.hpp>

#include "core/infinity.hpp"
#include "core/random.hpp"
#include "device/gpu/open.hpp"
#include "index/pivot/gpu/metric_devices.hpp"
#include "tests/oracle/texts.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/some_metric_state.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;

Context on_metric_device(const std::string& beside = "") {
  const char* const name = std::getenv("NEARFIELD_TEST_DEVICE");
  Context context;
  context.device = (name != nullptr ? name : "opencl") + beside;
  return context;
}

// Bytes of objects, and views of them.
class SomeObjects {
 public:
  void add(ObjectView object) { bytes_.emplace_back(object.begin(), object.end()); }
  std::vector<ObjectView> views() const { return {bytes_.begin(), bytes_.end()}; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
};

SomeObjects some_texts(std::int64_t count, std::int64_t longest, std::uint64_t seed) {
  SomeObjects objects;
  Random random(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    objects.add(ObjectBytes<std::string>::bytes(test::some_text(random, longest)));
  }
  return objects;
}

// Of few letters, so that some are close; all of ASCII.
SomeObjects plain_texts(std::int64_t count, std::int64_t shortest, std::int64_t longest,
                        std::uint64_t seed) {
  SomeObjects objects;
  Random random(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    std::string text;
    const std::int64_t length = shortest + random.below(longest - shortest + 1);
    while (std::ssize(text) < length) text += "abc~"[random.below(4)];
    objects.add(ObjectBytes<std::string>::bytes(text));
  }
  return objects;
}

// Of few values, so that many distances are equal.
SomeObjects some_vectors(std::int64_t count, std::int64_t cols, std::uint64_t seed) {
  SomeObjects objects;
  Random random(seed);
  std::vector<double> vector(static_cast<std::size_t>(cols));
  for (std::int64_t i = 0; i < count; ++i) {
    for (double& value : vector) value = static_cast<double>(random.below(40)) / 8 - 2.5;
    objects.add(ObjectBytes<std::vector<double>>::bytes(vector));
  }
  return objects;
}

// By every distance: (distance, id), of what is within the radius.
std::vector<std::pair<double, std::int64_t>> brute_force(const MetricIndex& index, ObjectView query,
                                                         double radius) {
  std::vector<std::pair<double, std::int64_t>> all;
  for (const std::int64_t id : index.ids()) {
    const std::vector<std::byte> object = index.get(id);
    const ObjectView view(object);
    double distance = 0;
    index.metric().distances(query, std::span(&view, 1), kInfinity, Isa::scalar,
                             std::span(&distance, 1));
    if (distance <= radius) all.emplace_back(distance, id);
  }
  std::sort(all.begin(), all.end());
  return all;
}

void expect_nearest(const MetricIndex& index, std::span<const ObjectView> queries,
                    const MetricSearchOptions& options, const Context& context) {
  const Neighbors found = index.search(queries, options, context);
  const Neighbors expected = index.search(queries, options);
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.keys, expected.keys);
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_EQ(found.exact, expected.exact);
  EXPECT_EQ(found.stats.pairs_considered, expected.stats.pairs_considered);
  // With a budget and nothing to look at, all is the CPU's, and the plan says so.
  const Plan& plan = found.stats.plan;
  const bool on_cpu = options.budget && expected.stats.plan.filter == "every row";
  EXPECT_EQ(plan.filter.find("on the device") != std::string::npos, !on_cpu) << plan.filter;
  EXPECT_EQ(plan.note.find("counted against the budget") != std::string::npos, on_cpu) << plan.note;
  if (options.budget || queries.empty()) return;
  const auto truth = brute_force(index, queries.front(), kInfinity);
  for (std::int64_t i = 0; i < found.counts[0]; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(std::pair(found.keys[at], found.ids[at]), truth[at]);
  }
}

void expect_within(const MetricIndex& index, std::span<const ObjectView> queries,
                   const MetricRangeOptions& options, const Context& context) {
  const Ranges found = index.within(queries, options, context);
  const Ranges expected = index.within(queries, options);
  EXPECT_EQ(found.offsets, expected.offsets);
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.keys, expected.keys);
  EXPECT_EQ(found.exact, expected.exact);
  if (options.budget || options.ids_only) return;
  const auto truth = brute_force(index, queries.front(), options.radius);
  EXPECT_EQ(found.offsets[1], std::ssize(truth));
}

void expect_pairs(const MetricIndex& index, const MetricPairsOptions& options,
                  const Context& context) {
  const Pairs found = index.pairs(options, context);
  const Pairs expected = index.pairs(options);
  EXPECT_EQ(found.first, expected.first);
  EXPECT_EQ(found.second, expected.second);
  EXPECT_EQ(found.keys, expected.keys);
}

void expect_metric_as_on_cpu(const MetricIndex& index, std::span<const ObjectView> queries,
                             double radius, const Context& context = on_metric_device()) {
  for (const std::int64_t k : {1, 10, 5'000}) {
    expect_nearest(index, queries, {.k = k}, context);
  }
  expect_nearest(index, queries, {.k = 5, .budget = 200}, context);
  if (index.stats().pivots > 0) expect_nearest(index, queries, {.k = 5, .pivots = 3}, context);
  expect_nearest(index, queries.first(1), {.k = 7}, context);
  for (const double within : {radius, 0.0, -1.0, kInfinity}) {
    expect_within(index, queries, {.radius = within}, context);
  }
  expect_within(index, queries, {.radius = radius, .ids_only = true}, context);
  expect_within(index, queries, {.radius = radius, .budget = 100}, context);
  expect_pairs(index, {.radius = radius / 4}, context);
  expect_pairs(index, {.count = 50}, context);
}

struct MetricCase {
  const char* metric;
  PivotOptions options;
  double radius;
};

const std::vector<MetricCase>& metric_cases() {
  static const std::vector<MetricCase> cases = {
      {"edit", {}, 3},                                  // signatures
      {"edit", {.pool = 12}, 3},                        // both
      {"edit", {.pool = 9, .signatures = false}, 3},    // LAESA
      {"edit", {.pool = 40, .kept = 6, .bits = 4}, 3},  // KVP and signatures
      {"damerau", {.pool = 20, .kept = 3, .signatures = false}, 3},
      {"lp:2", {}, 1.5},
      {"lp:1", {.pool = 100, .kept = 8}, 3},
      {"lp:inf", {.pool = 5, .bits = 3}, 1},
      {"lp:3", {.pool = 256, .kept = 7, .choice = PivotChoice::random}, 1.5},
      {"angular", {.pool = 10, .kept = 9}, 0.5}};
  return cases;
}

TEST(DeviceMetric, AnswersAsTheCpu) {
  const test::TempFolder folder;
  for (const MetricCase& one : metric_cases()) {
    SCOPED_TRACE(one.metric);
    const std::shared_ptr<const ObjectMetric> metric = object_metric(one.metric);
    const bool texts = metric->whole_numbers();
    const SomeObjects objects = texts ? some_texts(1'300, 12, 1) : some_vectors(1'300, 4, 1);
    const SomeObjects asked = texts ? some_texts(70, 12, 2) : some_vectors(70, 4, 2);
    const std::vector<ObjectView> queries = asked.views();
    MetricIndex index(metric, one.options);
    index.add(objects.views());
    expect_metric_as_on_cpu(index, queries, one.radius);
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < 1'300; id += 3) ids.push_back(id);
    index.remove(ids);
    index.add(queries);  // the device has the others already
    expect_metric_as_on_cpu(index, queries, one.radius);
    index.save(folder.path("index"));
    MetricIndex opened = MetricIndex::open(folder.path("index"), metric);
    opened.add(queries);  // rows of a file, and others
    expect_metric_as_on_cpu(opened, queries, one.radius);
    index.rebuild();
    expect_metric_as_on_cpu(index, queries, one.radius);
  }
}

// What is verified on the CPU is what it verifies without a device.
TEST(DeviceMetric, ComputesNoMoreDistances) {
  const SomeObjects objects = some_vectors(3'000, 6, 3);
  const SomeObjects asked = some_vectors(40, 6, 4);
  const std::vector<ObjectView> queries = asked.views();
  MetricIndex index(object_metric("lp:3"), {.pool = 30, .kept = 8});
  index.add(objects.views());
  for (const std::int64_t k : {1, 20}) {
    EXPECT_EQ(index.search(queries, {.k = k}, on_metric_device()).stats.pairs_verified,
              index.search(queries, {.k = k}).stats.pairs_verified);
  }
  EXPECT_EQ(index.within(queries, {.radius = 1}, on_metric_device()).stats.pairs_verified,
            index.within(queries, {.radius = 1}).stats.pairs_verified);
}

void expect_computed_there(const MetricIndex& index, std::span<const ObjectView> queries,
                           double radius) {
  expect_metric_as_on_cpu(index, queries, radius);
  const Plan plan = index.within(queries, {.radius = radius}, on_metric_device()).stats.plan;
  EXPECT_NE(plan.kernel.find("on the device"), std::string::npos) << plan.kernel;
}

// Patterns of no, one and several words, and of more than the kernel has; one limit cuts between.
TEST(DeviceMetric, EditsAreCountedOnTheDevice) {
  for (const auto& [shortest, longest] : {std::pair(0, 10), {55, 70}, {120, 140}, {250, 262}}) {
    SCOPED_TRACE(longest);
    const SomeObjects objects = plain_texts(400, shortest, longest, 11);
    const SomeObjects asked = plain_texts(30, shortest, longest, 12);
    for (const PivotOptions& options : {PivotOptions{}, {.pool = 0, .signatures = false}}) {
      MetricIndex index(object_metric("edit"), options);
      index.add(objects.views());
      expect_computed_there(index, asked.views(), static_cast<double>(longest) / 3);
    }
  }
}

// The metric refuses it, whom nobody asks for any more.
TEST(DeviceMetric, RemovedObjectsDoNotMatter) {
  const SomeObjects objects = some_vectors(200, 3, 14);
  const SomeObjects other = some_vectors(1, 4, 15);
  MetricIndex index(object_metric("lp:2"), {.pool = 0});
  index.add(objects.views());
  const std::vector<std::int64_t> id = {index.add(other.views())};
  index.remove(id);
  expect_nearest(index, objects.views(), {.k = 5}, on_metric_device());
  expect_within(index, objects.views(), {.radius = 1}, on_metric_device());
}

TEST(DeviceMetric, VectorsAreComparedOnTheDevice) {
  for (const char* const name : {"lp:1", "lp:2", "lp:inf"}) {
    SCOPED_TRACE(name);
    for (const std::int64_t cols : {1, 7, 40}) {
      SomeObjects objects;
      SomeObjects asked;
      Random random(13);
      std::vector<double> vector(static_cast<std::size_t>(cols));
      for (std::int64_t i = 0; i < 900; ++i) {
        for (double& value : vector)
          value = random.uniform() * std::pow(10.0, static_cast<double>(random.below(6)));
        (i < 870 ? objects : asked).add(ObjectBytes<std::vector<double>>::bytes(vector));
      }
      for (const PivotOptions& options : {PivotOptions{}, {.pool = 0}, {.pool = 20, .kept = 5}}) {
        MetricIndex index(object_metric(name), options);
        index.add(objects.views());
        expect_computed_there(index, asked.views(), 5'000);
      }
    }
  }
}

// As the CPU says it.
TEST(DeviceMetric, WhatIsNoDistanceIsAnErrorOnTheDevice) {
  const SomeObjects objects = some_vectors(100, 3, 14);
  MetricIndex index(object_metric("lp:2"), {.pool = 0});
  index.add(objects.views());
  const std::vector<double> wrong{1, std::nan(""), 2};
  const std::vector<double> longer{1, 2, 3, 4};
  const std::array<ObjectView, 1> query{ObjectBytes<std::vector<double>>::bytes(wrong)};
  const std::array<ObjectView, 1> other{ObjectBytes<std::vector<double>>::bytes(longer)};
  for (const char* const name : {"lp:1", "lp:2", "lp:inf"}) {
    MetricIndex numbers(object_metric(name), {.pool = 0});
    numbers.add(objects.views());
    for (const Context& where : {Context(), on_metric_device()}) {
      expect_error([&] { numbers.search(query, {.k = 1}, where); }, ErrorCode::invalid_argument,
                   {fmt::format("'{}' says nan", name)});
    }
  }
  expect_error([&] { index.search(other, {.k = 1}, on_metric_device()); },
               ErrorCode::invalid_argument, {"of 4 and of 3 numbers"});
}

TEST(DeviceMetric, SeveralShareASearch) {
  const SomeObjects objects = some_vectors(5'000, 3, 5);
  const SomeObjects asked = some_vectors(300, 3, 6);
  const std::vector<ObjectView> queries = asked.views();
  MetricIndex index(object_metric("lp:3"), {.pool = 12});
  index.add(objects.views());
  const Context context = on_metric_device(",cpu");
  expect_nearest(index, queries, {.k = 10}, context);
  expect_within(index, queries, {.radius = 0.7}, context);
  expect_pairs(index, {.radius = 0.2}, context);
  const Plan plan = index.search(queries, {.k = 10}, context).stats.plan;
  EXPECT_TRUE(plan.device.ends_with(":0,cpu")) << plan.device;
  EXPECT_NE(plan.note.find("looked at"), std::string::npos) << plan.note;
}

// What does not fit the limit comes in runs, and lists of fewer queries at a time.
TEST(DeviceMetric, KeepsToTheMemoryLimit) {
  const SomeObjects objects = some_vectors(20'000, 3, 7);
  const SomeObjects asked = some_vectors(100, 3, 8);
  const std::vector<ObjectView> queries = asked.views();
  MetricIndex index(object_metric("lp:3"), {.pool = 40, .kept = 20});  // 800,000 bytes
  index.add(objects.views());
  Context context = on_metric_device();
  for (const std::int64_t limit : {1'200'000, 700'000, 500'000}) {
    context.device_memory_limit = limit;
    expect_nearest(index, queries, {.k = 10}, context);
    expect_within(index, queries, {.radius = 0.7}, context);
  }
  MetricIndex computed(object_metric("lp:2"), {.pool = 40, .kept = 20});
  computed.add(objects.views());
  for (const std::int64_t limit : {3'000'000, 1'700'000, 1'100'000}) {
    context.device_memory_limit = limit;
    expect_nearest(computed, queries, {.k = 10}, context);
    expect_within(computed, queries, {.radius = 0.7}, context);
  }
  context.device_memory_limit = 20'000;
  expect_error([&] { index.search(queries, {.k = 1}, context); }, ErrorCode::memory_limit,
               {"20000 objects", "limit is 20000", "raise it"});
  Context host = on_metric_device();
  host.memory_limit = 100'000;
  expect_error([&] { index.search(queries, {.k = 1}, host); }, ErrorCode::memory_limit, {"100000"});
}

// Of a query all objects are near enough, and have room on the device only some at a time: their
// keys, or themselves where the CPU verifies them.
TEST(DeviceMetric, ListsThatDoNotFitAreMadeRunByRun) {
  const SomeObjects objects = some_vectors(150'000, 1, 16);
  const SomeObjects asked = some_vectors(3, 1, 17);
  const std::vector<ObjectView> queries = asked.views();
  Context context = on_metric_device();
  MetricIndex computed(object_metric("lp:2"), {.pool = 0});
  computed.add(objects.views());
  context.device_memory_limit = 3'400'000;
  expect_nearest(computed, queries, {.k = 10}, context);
  expect_within(computed, queries, {.radius = kInfinity}, context);
  MetricIndex listed(object_metric("lp:3"), {.pool = 4});
  listed.add(objects.views());
  context.device_memory_limit = 1'100'000;
  expect_nearest(listed, queries, {.k = 149'000}, context);
  expect_within(listed, queries, {.radius = kInfinity}, context);
}

// Of the host they take more than of the device.
TEST(DeviceMetric, ListsKeepToTheMemoryLimit) {
  const SomeObjects objects = some_vectors(20'000, 3, 18);
  const SomeObjects asked = some_vectors(100, 3, 19);
  MetricIndex index(object_metric("lp:2"), {.pool = 0});
  index.add(objects.views());
  Context context = on_metric_device();
  const std::int64_t before =
      index.search(asked.views(), {.k = 10}, context).stats.plan.working_bytes;
  context.memory_limit = 8'000'000;
  EXPECT_GT(before, *context.memory_limit);
  expect_nearest(index, asked.views(), {.k = 10}, context);
  EXPECT_LE(index.search(asked.views(), {.k = 10}, context).stats.plan.working_bytes,
            *context.memory_limit);
}

TEST(DeviceMetric, CopiesThatDoNotFitALowerLimitAreLetGo) {
  const MetricState state = test::some_metric_state("lp:2", {.pool = 0}, 20'000, 3, 20);
  const ListerTask task{state, 1, DeviceDistance::l2, {}};
  const Context context = on_metric_device();
  Context limited = on_metric_device();
  limited.device_memory_limit = 700'000;
  const void* const device = &gpu::open_device(context.device).device;
  int made = 0;
  const auto hold = [&] {
    state.copies->of<int>(device, [&] { return std::make_shared<const int>(++made); });
  };
  hold();
  DeviceListers all = plan_listers(task, context, context.device);
  EXPECT_FALSE(all.shape.streamed);
  open_listers(all, context);
  hold();
  EXPECT_EQ(made, 1);
  DeviceListers some = plan_listers(task, limited, context.device);
  EXPECT_TRUE(some.shape.streamed);
  open_listers(some, limited);
  hold();
  EXPECT_EQ(made, 2);
}

// Distances that are of no use by what was found before them stay on the device.
TEST(DeviceMetric, FewComeBackOfTheNearest) {
  const MetricState state = test::some_metric_state("lp:2", {.pool = 0}, 20'000, 3, 22);
  const std::vector<ObjectView> queries{state.objects.view(7)};
  const Context context = on_metric_device();
  const KeyedSearch keyed{DeviceDistance::l2, queries, default_isa()};
  DeviceListers on = plan_listers({state, 1, DeviceDistance::l2, keyed}, context, context.device);
  if (!on.task.keyed) GTEST_SKIP() << "the device has no float64";
  open_listers(on, context);
  const Monitor monitor(context, 1);
  const ObjectBounds bounds(state.filter, queries, {0, 1}, {}, default_isa(), 1, monitor);
  PivotLister& lister = *on.listers.front();
  lister.set_bounds(bounds);
  lister.start({0, 1});
  const LevelRequest request{0, 0, kMostLevel, kInfinity};
  const auto keys_of = [&](const FallingKeys* falling, std::vector<double>& keys) {
    std::int64_t computed = 0;
    lister.list(std::span(&request, 1), falling, [&](const LevelList& list) {
      keys.insert(keys.end(), list.keys.begin(), list.keys.end());
      std::sort(keys.begin(), keys.end());
      computed += list.computed;
    });
    EXPECT_EQ(computed, 20'000);
  };
  std::vector<double> all;
  keys_of(nullptr, all);
  EXPECT_EQ(all.size(), 20'000u);
  std::vector<double> few;
  const FallingKeys falling{256, [&](std::int64_t) { return few[9]; }};
  keys_of(&falling, few);
  EXPECT_LT(few.size(), 2'000u);
  all.resize(10);
  few.resize(10);
  EXPECT_EQ(few, all);
}

TEST(DeviceMetric, WhatIsRefusedLeavesNoCopy) {
  const MetricState state = test::some_metric_state("lp:2", {.pool = 0}, 20'000, 3, 21);
  const std::vector<ObjectView> queries{state.objects.view(0)};
  Context context = on_metric_device();
  context.memory_limit = 100'000;
  expect_error([&] { search_metric(state, queries, {.k = 1}, context); }, ErrorCode::memory_limit,
               {"100000"});
  bool held = true;
  state.copies->of<MetricDeviceCopy>(&gpu::open_device(context.device).device,
                                     [&]() -> std::shared_ptr<const MetricDeviceCopy> {
                                       held = false;
                                       return nullptr;
                                     });
  EXPECT_FALSE(held);
}

struct FirstNumber {
  double operator()(std::span<const double> a, std::span<const double> b) const {
    return std::abs(a[0] - b[0]);
  }
  std::array<std::int8_t, 1> signature(std::span<const double> a) const {
    return {static_cast<std::int8_t>(a[0])};
  }
  double bound(const std::array<std::int8_t, 1>& a, const std::array<std::int8_t, 1>& b) const {
    return std::max(std::abs(a[0] - b[0]) - 1, 0);
  }
};

TEST(DeviceMetric, SaysWhatItCannotDo) {
  const SomeObjects objects = some_vectors(200, 2, 9);
  const std::vector<ObjectView> views = objects.views();
  MetricIndex own(object_metric_of<std::vector<double>>(FirstNumber{}), {.pool = 4});
  own.add(views);
  expect_error([&] { own.search(views, {.k = 1}, on_metric_device()); }, ErrorCode::unsupported,
               {"signatures of the metric", "signatures=false"});
  expect_error([&] { own.add(views, on_metric_device()); }, ErrorCode::unsupported, {});
  MetricIndex bare(object_metric("lp:3"), {.pool = 0});
  bare.add(views);
  const Neighbors found = bare.search(views, {.k = 3}, on_metric_device());
  EXPECT_EQ(found.ids, bare.search(views, {.k = 3}).ids);
  EXPECT_EQ(found.stats.plan.device, "cpu");
  EXPECT_NE(found.stats.plan.note.find("on the CPU: there are neither pivots nor signatures"),
            std::string::npos)
      << found.stats.plan.note;
  const MetricIndex none(object_metric("edit"));
  const Neighbors nothing = none.search(views, {.k = 3}, on_metric_device());
  EXPECT_EQ(nothing.counts[0], 0);
  EXPECT_NE(nothing.stats.plan.note.find("no objects"), std::string::npos);
  // A device that is not here is not forgiven where there is nothing for it to do.
  Context other = on_metric_device();
  other.device = other.device.substr(0, other.device.find(':')) + ":99";
  for (const MetricIndex* const index : {&none, &std::as_const(bare)}) {
    expect_error([&] { index->search(views, {.k = 3}, other); }, ErrorCode::unsupported, {":99"});
  }
}

// A metric that fails ends the search, wherever rows are listed.
TEST(DeviceMetric, StopsWhereTheMetricFails) {
  struct Failing {
    double operator()(std::span<const double> a, std::span<const double> b) const {
      if (a[0] > 100 && b[0] > 2) return kInfinity;
      return std::abs(a[0] - b[0]);
    }
  };
  const SomeObjects objects = some_vectors(2'000, 1, 10);
  MetricIndex index(object_metric_of<std::vector<double>>(Failing{}), {.pool = 1});
  index.add(objects.views());
  const std::vector<double> far{1e9};
  const std::array<ObjectView, 1> query{ObjectBytes<std::vector<double>>::bytes(far)};
  expect_error([&] { index.search(query, {.k = 2'000}, on_metric_device()); },
               ErrorCode::invalid_argument, {"no distance"});
  Context context = on_metric_device();
  context.cancel.cancel();
  expect_error([&] { index.search(objects.views(), {.k = 3}, context); }, ErrorCode::cancelled, {});
}

}  // namespace
}  // namespace nearfield
