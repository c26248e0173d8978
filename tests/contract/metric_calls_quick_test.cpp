// Calls on indexes of objects: side by side, cancelled, watched, and short of memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/pivot_index.hpp>

#include "core/random.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

struct Apart {
  double operator()(double a, double b) const { return std::abs(a - b); }
};

struct SignedApart : Apart {
  std::array<double, 1> signature(double a) const { return {a}; }
  double bound(const std::array<double, 1>& a, const std::array<double, 1>& b) const {
    return std::abs(a[0] - b[0]) - 1;
  }
};

std::vector<double> places_of(std::int64_t count) {
  Random random(4);
  std::vector<double> places;
  for (std::int64_t i = 0; i < count; ++i) places.push_back(100 * random.uniform());
  return places;
}

// Says when it is called while it runs.
class OneAtATime final : public ObjectMetric {
 public:
  std::string name() const override { return "one at a time"; }
  bool any_thread() const override { return false; }
  std::int64_t alignment() const override { return alignof(double); }
  void distances(ObjectView from, std::span<const ObjectView> to, double, Isa,
                 std::span<double> out) const override {
    if (runs_.exchange(true)) overlaps_ = true;
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::this_thread::yield();
      out[i] = Apart()(ObjectBytes<double>::view(from), ObjectBytes<double>::view(to[i]));
    }
    runs_ = false;
  }
  bool overlaps() const { return overlaps_; }

 private:
  mutable std::atomic<bool> runs_ = false;
  mutable std::atomic<bool> overlaps_ = false;
};

TEST(MetricCalls, AMetricOfOneThreadIsCalledByOneReaderAtATime) {
  const auto metric = std::make_shared<OneAtATime>();
  MetricIndex index(metric, {.pool = 4});
  const std::vector<double> places = places_of(100);
  const PackedObjects<double> packed(places);
  index.add(packed.views());
  const test::TempFolder folder;
  const auto ask = [&](int reader) {
    for (int i = 0; i < 5; ++i) {
      index.search(packed.views(), {.k = 3});
      index.within(packed.views(), {.radius = 5});
      index.pairs({.radius = 1});
      index.pairs(packed.views().first(10), {.radius = 1});
      index.save(folder.path(reader == 0 ? "first" : "second"));
    }
  };
  {
    const std::jthread other([&] { ask(0); });
    ask(1);
  }
  EXPECT_FALSE(metric->overlaps());
}

// Cancels a call when it is asked for the so-manieth time, and counts what it is asked for then.
class Cancelling final : public ObjectMetric {
 public:
  std::string name() const override { return "cancelling"; }
  bool any_thread() const override { return false; }
  std::int64_t alignment() const override { return alignof(double); }
  void distances(ObjectView from, std::span<const ObjectView> to, double, Isa,
                 std::span<double> out) const override {
    for (std::size_t i = 0; i < to.size(); ++i) {
      out[i] = Apart()(ObjectBytes<double>::view(from), ObjectBytes<double>::view(to[i]));
    }
    most_at_once_ = std::max(most_at_once_, std::ssize(to));
    calls_after_ += calls_ >= at_call_;
    if (++calls_ == at_call_) cancel_.cancel();
  }
  void cancel_at(std::int64_t call, CancelToken cancel) {
    calls_ = calls_after_ = 0;
    at_call_ = call;
    cancel_ = std::move(cancel);
  }
  std::int64_t calls() const { return calls_; }
  std::int64_t calls_after() const { return calls_after_; }
  std::int64_t most_at_once() const { return most_at_once_; }

 private:
  mutable std::int64_t calls_ = 0;
  mutable std::int64_t calls_after_ = 0;
  mutable std::int64_t most_at_once_ = 0;
  std::int64_t at_call_ = -1;
  mutable CancelToken cancel_;
};

// While pivots are chosen, while their table is filled, and while queries are compared with them.
TEST(MetricCalls, ACancelledCallAsksTheMetricForNoMore) {
  const auto metric = std::make_shared<Cancelling>();
  const std::vector<double> places = places_of(2'000);
  const PackedObjects<double> packed(places);
  const auto expect_cancelled = [&](std::int64_t call, const auto& run) {
    Context context;
    metric->cancel_at(call, context.cancel);
    test::expect_error([&] { run(context); }, ErrorCode::cancelled, {});
    EXPECT_EQ(metric->calls_after(), 0) << call;
  };
  const auto uncounted = [&] { metric->cancel_at(-1, {}); };
  uncounted();
  MetricIndex index(metric, {.pool = 20});
  index.add(packed.views());
  const std::int64_t calls = metric->calls();
  for (std::int64_t call = 1; call < calls; call += 29) {
    MetricIndex other(metric, {.pool = 20});
    expect_cancelled(call, [&](const Context& context) { other.add(packed.views(), context); });
    EXPECT_EQ(other.size(), 0);
    expect_cancelled(call, [&](const Context& context) { index.rebuild(context); });
  }
  for (const std::int64_t call : {1, 2, 30}) {
    expect_cancelled(call,
                     [&](const Context& context) { index.search(packed.views(), {}, context); });
  }
  uncounted();
  EXPECT_EQ(index.search(packed.views().first(1), {.k = 3}).counts.front(), 3);
  EXPECT_EQ(metric->most_at_once(), 256);
}

// Of objects: never falling, on the way, and at the end all.
TEST(MetricCalls, AddingAndRebuildingSayHowFarTheyAre) {
  const std::vector<double> places = places_of(500);
  for (const PivotOptions& options :
       {PivotOptions{.pool = 0}, PivotOptions{.pool = 4}, PivotOptions{.signatures = false}}) {
    std::vector<Progress> said;
    Context context{.threads = 1};
    context.progress = [&](const Progress& progress) { said.push_back(progress); };
    const auto expect_said = [&](std::int64_t total) {
      ASSERT_GE(said.size(), 2U);
      EXPECT_GT(said.front().done, 0);
      EXPECT_LT(said.front().done, total);
      for (std::size_t i = 1; i < said.size(); ++i) EXPECT_GE(said[i].done, said[i - 1].done);
      EXPECT_EQ(said.back().done, total);
      for (const Progress& progress : said) EXPECT_EQ(progress.total, total);
      said.clear();
    };
    PivotIndex<double, SignedApart> index({}, options);
    index.add(places, context);
    expect_said(500);
    index.add(places, context);  // to pivots that are there
    expect_said(500);
    index.index().rebuild(context);
    expect_said(1'000);
  }
}

// Distances to pivots are kept of fewer queries at a time.
TEST(MetricCalls, ASmallLimitStillAnswers) {
  const std::vector<double> places = places_of(600);
  PivotIndex<double, Apart> index({}, {.pool = 16});
  index.add(places);
  Context context{.threads = 1};
  const auto expect_same = [&](const auto& call) {
    context.memory_limit.reset();
    const auto want = call();
    const Plan& usual = want.stats.plan;
    for (const std::int64_t part : {2, 3, 4}) {
      context.memory_limit = usual.result_bytes + usual.working_bytes / part;
      const auto got = call();
      const Plan& plan = got.stats.plan;
      EXPECT_EQ(got.keys, want.keys) << part;
      EXPECT_LT(plan.query_batch, usual.query_batch);
      EXPECT_LE(plan.result_bytes + plan.working_bytes, *context.memory_limit);
    }
    return want.stats.plan.working_bytes;
  };
  expect_same([&] { return index.search(places, {.k = 3}, context); });
  expect_same([&] { return index.pairs(places, {.count = 50}, context); });
  const std::int64_t of_others =
      index.pairs(places, {.count = 50}, Context{.threads = 1}).stats.plan.working_bytes;
  EXPECT_EQ(expect_same([&] { return index.pairs({.count = 50}, context); }),
            of_others + 600 * static_cast<std::int64_t>(sizeof(ObjectView)));
  context.memory_limit = 600 * 16 - 1;
  test::expect_error([&] { index.pairs({.count = 1}, context); }, ErrorCode::memory_limit,
                     {"600 objects", "9600 bytes", "9599"});
}

}  // namespace
}  // namespace nearfield
