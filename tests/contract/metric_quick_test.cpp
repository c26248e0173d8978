// Indexes of objects: what is exact, what is not, and what is refused.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nearfield/object_metrics.hpp>
#include <nearfield/pivot_index.hpp>

#include "core/random.hpp"
#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/texts.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using Words = PivotIndex<std::string, EditDistance>;

std::vector<std::string> some_texts(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < count; ++i) texts.push_back(test::some_text(random, 7));
  return texts;
}

std::vector<Neighbor> by_brute_force(const std::vector<std::string>& texts,
                                     const std::string& query) {
  std::vector<Neighbor> all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    all.push_back(
        {static_cast<double>(test::textbook_edit(query, texts[i])), static_cast<std::int64_t>(i)});
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(MetricQuick, WordsAreExactOnEveryIsa) {
  const std::vector<std::string> texts = some_texts(150, 1);
  const std::vector<std::string> queries = some_texts(5, 2);
  for (const PivotOptions& options :
       {PivotOptions{}, PivotOptions{.pool = 7}, PivotOptions{.pool = 20, .kept = 3}}) {
    for (const Isa isa : contract::swept_isas()) {
      Words index({}, options);
      index.add(texts, contract::forced(isa));
      const Neighbors got = index.search(queries, {.k = 9}, contract::forced(isa));
      ASSERT_TRUE(got.exact);
      EXPECT_EQ(got.stats.plan.isa, isa);
      for (std::int64_t query = 0; query < 5; ++query) {
        const auto want = by_brute_force(texts, queries[static_cast<std::size_t>(query)]);
        for (std::size_t i = 0; i < 9; ++i) {
          ASSERT_EQ(got.ids_of(query)[i], want[i].id) << to_string(isa);
          ASSERT_EQ(got.keys_of(query)[i], want[i].key) << to_string(isa);
        }
      }
    }
  }
}

// Of one that this CPU lacks no kernel runs.
TEST(MetricQuick, AnUnavailableIsaIsRefused) {
  const std::vector<Isa> here = available_isas();
  const Isa lacking = here.front() == Isa::neon ? Isa::avx2 : Isa::neon;
  const Context context = contract::forced(lacking);
  const std::vector<std::string> texts = some_texts(60, 1);
  const auto expect_refused = [&](const auto& call) {
    test::expect_error(call, ErrorCode::unsupported, {to_string(lacking), to_string(here.back())});
  };
  for (const PivotOptions& options : {PivotOptions{}, PivotOptions{.pool = 7}}) {
    Words index({}, options);
    expect_refused([&] { index.add(texts, context); });
    EXPECT_EQ(index.index().size(), 0);
    index.add(texts);
    expect_refused([&] { index.add(some_texts(3, 2), context); });
    expect_refused([&] { index.index().rebuild(context); });
    EXPECT_EQ(index.index().size(), 60);
    expect_refused([&] { index.search(texts, {.k = 2}, context); });
    expect_refused([&] { index.within(texts, {.radius = 2}, context); });
    expect_refused([&] { index.pairs({.radius = 1}, context); });
    expect_refused([&] { index.pairs(texts, {.radius = 1}, context); });
  }
  std::vector<ObjectView> views;
  for (const std::string& text : texts) views.push_back(ObjectBytes<std::string>::bytes(text));
  expect_refused([&] { check_metric(*object_metric("edit"), views, 10, context); });
}

struct Line {
  double operator()(double a, double b) const { return std::abs(a - b); }
};
struct Square {
  double operator()(double a, double b) const { return (a - b) * (a - b); }
};

std::vector<double> some_places(std::int64_t count) {
  Random random(3);
  std::vector<double> places;
  for (std::int64_t i = 0; i < count; ++i) places.push_back(100 * random.uniform());
  return places;
}

// The negative control: without the triangle inequality pivots lose neighbours, and the check says
// so.
TEST(MetricQuick, WhatIsNoMetricLosesNeighbours) {
  const std::vector<double> places = some_places(400);
  PivotIndex<double, Square> with_pivots(Square{}, {.pool = 8});
  PivotIndex<double, Square> without(Square{}, {.pool = 0});
  PivotIndex<double, Line> root(Line{}, {.pool = 8});
  with_pivots.add(places);
  without.add(places);
  root.add(places);
  const std::vector<double> queries = some_places(20);
  const Ranges truth = root.within(queries, {.radius = 2});
  EXPECT_EQ(without.within(queries, {.radius = 4}).ids, truth.ids);
  EXPECT_LT(with_pivots.within(queries, {.radius = 4}).ids.size(), truth.ids.size());
  EXPECT_FALSE(check_metric<double>(Square{}, places, 1'000).holds());
  EXPECT_TRUE(check_metric<double>(Line{}, places, 1'000).holds());
}

// On a line two pivots say nearly everything.
TEST(MetricQuick, PivotsLeaveDistancesOut) {
  PivotIndex<double, Line> index(Line{}, {.pool = 4});
  index.add(some_places(2'000));
  const std::vector<double> queries = some_places(50);
  const Neighbors found = index.search(queries, {.k = 3});
  EXPECT_LT(found.stats.pairs_verified, 50 * 100);
  EXPECT_EQ(found.stats.pairs_considered, 50 * 2'000);
  EXPECT_EQ(found.stats.plan.filter, "4 pivots");
  PivotIndex<double, Line> scan(Line{}, {.pool = 0});
  scan.add(some_places(2'000));
  const Neighbors all = scan.search(queries, {.k = 3});
  EXPECT_EQ(all.stats.pairs_verified, 50 * 2'000);
  EXPECT_EQ(all.stats.plan.filter, "every row");
  EXPECT_EQ(all.ids, found.ids);
  EXPECT_EQ(all.keys, found.keys);
}

// Its bound is not cut off at 0, and of some objects it is NaN.
struct UnclampedLine : Line {
  std::array<std::int8_t, 1> signature(double a) const {
    return {static_cast<std::int8_t>(std::floor(a))};
  }
  double bound(const std::array<std::int8_t, 1>& a, const std::array<std::int8_t, 1>& b) const {
    return b[0] % 10 == 3 ? NAN : std::abs(static_cast<double>(a[0] - b[0])) - 1;
  }
};

TEST(MetricQuick, ABoundThatSaysNothingDropsNothing) {
  const std::vector<double> places = some_places(500);
  PivotIndex<double, UnclampedLine> index({}, {.pool = 0});
  PivotIndex<double, Line> scan({}, {.pool = 0});
  index.add(places);
  scan.add(places);
  ASSERT_TRUE(index.index().stats().signatures);
  const Ranges got = index.within(places, {.radius = 3});
  const Ranges want = scan.within(places, {.radius = 3});
  EXPECT_EQ(got.offsets, want.offsets);
  EXPECT_EQ(got.ids, want.ids);
  EXPECT_LT(got.stats.pairs_verified, want.stats.pairs_verified / 2);
}

// Distances are smaller by rounding than they should be. The signature is all of the object, so
// that the bound has no such error.
struct RoundedLine {
  static constexpr double slack = 1e-2;
  double operator()(double a, double b) const { return std::abs(a - b) * (1 - slack / 2); }
  std::array<double, 1> signature(double a) const { return {a}; }
  double bound(const std::array<double, 1>& a, const std::array<double, 1>& b) const {
    return std::abs(a[0] - b[0]);
  }
};

TEST(MetricQuick, BoundsOfSignaturesAllowForSlack) {
  const std::vector<double> places = some_places(500);
  PivotIndex<double, RoundedLine> index({}, {.pool = 0});
  index.add(places);
  const std::vector<double> query{50};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Ranges found = index.within(query, {.radius = RoundedLine()(query[0], places[i])});
    const auto id = static_cast<std::int64_t>(i);
    ASSERT_TRUE(std::find(found.ids.begin(), found.ids.end(), id) != found.ids.end()) << id;
  }
}

// Each distance is as far off as slack allows, or nearly, up or down.
struct LineOff {
  static constexpr double slack = 1e-2;
  double operator()(double a, double b) const {
    const bool up = (std::llround(a * 977) + std::llround(b * 977)) % 2 == 0;
    return std::abs(a - b) * (1 + (up ? 0.999 : -0.999) * slack);
  }
};

TEST(MetricQuick, WhatCheckMetricAllowsLosesNothing) {
  const std::vector<double> places = some_places(40);
  const MetricReport report = check_metric<double>(LineOff{}, places, 20'000);
  ASSERT_TRUE(report.holds()) << to_string(report);
  PivotIndex<double, LineOff> pivots({}, {.pool = 1});
  PivotIndex<double, LineOff> scan({}, {.pool = 0});
  pivots.add(places);
  scan.add(places);
  for (const double place : places) {
    const std::vector<double> query{place + 5.0 / 977};  // beside it, and off the other way
    for (const double other : places) {
      const double radius = LineOff()(query[0], other);
      const Ranges want = scan.within(query, {.radius = radius});
      ASSERT_EQ(pivots.within(query, {.radius = radius}).ids, want.ids) << radius;
      const Ranges ids = pivots.within(query, {.radius = radius, .ids_only = true});
      ASSERT_EQ(ids.ids, scan.within(query, {.radius = radius, .ids_only = true}).ids) << radius;
    }
  }
}

// What is surely near needs no distance either, where nobody asks how near.
TEST(MetricQuick, IdsAloneTakeFewerDistances) {
  for (const PivotOptions& options :
       {PivotOptions{.pool = 4}, PivotOptions{.pool = 9, .kept = 3}}) {
    PivotIndex<double, Line> index(Line{}, options);
    index.add(some_places(2'000));
    const std::vector<double> queries = some_places(10);
    const Ranges all = index.within(queries, {.radius = 20});
    const Ranges ids = index.within(queries, {.radius = 20, .ids_only = true});
    EXPECT_EQ(ids.offsets, all.offsets);
    EXPECT_LT(ids.stats.pairs_verified, all.stats.pairs_verified / 2);
    EXPECT_TRUE(ids.keys.empty());
    for (std::size_t query = 0; query < 10; ++query) {
      std::vector<std::int64_t> sorted(all.ids.begin() + all.offsets[query],
                                       all.ids.begin() + all.offsets[query + 1]);
      std::sort(sorted.begin(), sorted.end());
      EXPECT_TRUE(std::equal(sorted.begin(), sorted.end(), ids.ids.begin() + all.offsets[query]));
    }
  }
}

TEST(MetricQuick, ABudgetIsKeptAndSaid) {
  PivotIndex<double, Line> index(Line{}, {.pool = 4});
  index.add(some_places(1'000));
  const std::vector<double> queries = some_places(7);
  const Neighbors exact = index.search(queries, {.k = 5});
  for (const std::int64_t budget : {0, 4, 10, 20, 10'000}) {
    const Neighbors found = index.search(queries, {.k = 5, .budget = budget});
    EXPECT_LE(found.stats.pairs_verified, 7 * budget);
    EXPECT_TRUE(!found.exact || found.ids == exact.ids) << budget;
  }
  EXPECT_FALSE(index.search(queries, {.k = 5, .budget = 6}).exact);
  EXPECT_TRUE(index.search(queries, {.k = 5, .budget = 10'000}).exact);
  // What would do for no more than the pivots is spent on objects; and so is all where none is
  // looked at.
  EXPECT_EQ(index.search(queries, {.k = 3, .budget = 4}).counts, std::vector<std::int64_t>(7, 3));
  const Neighbors bare = index.search(queries, {.k = 5, .budget = 1'000, .pivots = 0});
  EXPECT_TRUE(bare.exact);
  EXPECT_EQ(bare.stats.pairs_verified, 7 * 1'000);
}

TEST(MetricQuick, OfNothing) {
  Words index;
  const std::vector<std::string> query{"a"};
  EXPECT_EQ(index.search(query, {.k = 2}).counts, std::vector<std::int64_t>{0});
  EXPECT_TRUE(index.within(query, {.radius = 9}).ids.empty());
  EXPECT_TRUE(index.pairs({.count = 3}).first.empty());
  EXPECT_EQ(index.index().remove(std::vector<std::int64_t>{1}), 0);
  EXPECT_EQ(index.add(std::vector<std::string>{}), 0);
  index.index().rebuild();
  const test::TempFolder folder;
  index.save(folder.path("empty"));
  EXPECT_EQ(Words::open(folder.path("empty")).index().size(), 0);
  index.add(std::vector<std::string>{"", "b"});
  EXPECT_EQ(index.search(query, {.k = 5}).ids_of(0)[0], 0);  // both 1 away
  EXPECT_TRUE(index.search(std::vector<std::string>{}, {.k = 5}).ids.empty());
}

// A function that fails while objects are added.
struct Failing {
  const bool* fails;
  double operator()(double a, double b) const {
    if (*fails) throw Error(ErrorCode::io, "the metric fails");
    return std::abs(a - b);
  }
};

TEST(MetricQuick, WhatFailsLeavesTheIndexAsItWas) {
  bool fails = false;
  PivotIndex<double, Failing> index(Failing{&fails}, {.pool = 4});
  index.add(some_places(100));
  fails = true;
  EXPECT_THROW(index.add(some_places(10)), Error);
  EXPECT_THROW(index.add(some_places(1'000)), Error);  // pivots would be chosen anew
  EXPECT_THROW(index.index().rebuild(), Error);
  fails = false;
  EXPECT_EQ(index.index().size(), 100);
  EXPECT_EQ(index.add(some_places(10)), 100);
  EXPECT_EQ(index.search(std::vector{5.0}, {.k = 200}).counts.front(), 110);

  Context cancelled;
  cancelled.cancel.cancel();
  EXPECT_THROW(index.add(some_places(10), cancelled), Error);
  EXPECT_THROW(index.search(std::vector{5.0}, {}, cancelled), Error);
  EXPECT_EQ(index.index().size(), 110);
}

TEST(MetricQuick, MistakesAreRefused) {
  using test::expect_error;
  constexpr auto kInvalid = ErrorCode::invalid_argument;
  const auto edit = object_metric("edit");
  expect_error([&] { MetricIndex(std::shared_ptr<const ObjectMetric>()); }, kInvalid, {"metric"});
  expect_error([&] { MetricIndex(edit, {.pool = 257}); }, kInvalid, {"0 to 256", "257"});
  expect_error([&] { MetricIndex(edit, {.bits = 0}); }, kInvalid, {"1 to 8", "0"});
  Words index;
  index.add(some_texts(20, 5));
  const std::vector<std::string> query{"a"};
  expect_error([&] { index.search(query, {.k = -1}); }, kInvalid, {"-1"});
  expect_error([&] { index.search(query, {.budget = -2}); }, kInvalid, {"-2"});
  expect_error([&] { index.within(query, {.radius = NAN}); }, kInvalid, {"NaN"});
  expect_error([&] { index.pairs({}); }, kInvalid, {"radius", "count"});
  expect_error([&] { index.index().get(99); }, kInvalid, {"99"});
  Context device;
  device.device = "tpu";
  expect_error([&] { index.search(query, {}, device); }, kInvalid, {"tpu"});
  Context small;
  small.memory_limit = 1'000;
  expect_error([&] { index.search(query, {}, small); }, ErrorCode::memory_limit, {"1000"});
  expect_error([&] { index.add(some_texts(200, 6), small); }, ErrorCode::memory_limit, {"1000"});
  EXPECT_EQ(index.index().size(), 20);

  const auto wrong = [](double a, double b) { return a < b ? -1.0 : NAN; };
  PivotIndex<double, decltype(wrong)> none(wrong, {.pool = 0});
  expect_error([&] { none.add(some_places(5)); }, kInvalid, {"no distance", "check_metric"});
}

struct Slacked : Line {
  double slack;
};

// Bounds that it raised would lose neighbours.
TEST(MetricQuick, ASlackIsAPartOfADistance) {
  const std::vector<double> places = some_places(20);
  for (const double slack : {-1e-9, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    const Slacked metric{{}, slack};
    const std::string number = fmt::format("is {}", slack);
    test::expect_error([&] { (PivotIndex<double, Slacked>(metric)); }, ErrorCode::invalid_argument,
                       {"slack", number});
    test::expect_error([&] { check_metric<double>(metric, places, 5); },
                       ErrorCode::invalid_argument, {"slack", number});
  }
  EXPECT_EQ(check_metric<double>(Slacked{{}, 0}, places, 5).triples, 5);
}

// Of a metric with signatures there are none unless somebody asks.
TEST(MetricQuick, WhatIsSaidOfPivotsMakesSome) {
  const std::vector<std::string> texts = some_texts(100, 9);
  const std::vector<std::string> query{"abc"};
  const auto pivots_of = [&](const PivotOptions& options) {
    Words index({}, options);
    index.add(texts);
    return index.index().stats().pivots;
  };
  EXPECT_EQ(pivots_of({}), 0);
  EXPECT_EQ(pivots_of({.pool = 0}), 0);
  for (const PivotOptions& options : {PivotOptions{.kept = 3},
                                      {.bits = 5},
                                      {.choice = PivotChoice::random},
                                      {.choice_budget = 500}}) {
    EXPECT_EQ(pivots_of(options), 16);
    PivotOptions none = options;
    none.pool = 0;
    test::expect_error([&] { pivots_of(none); }, ErrorCode::invalid_argument, {"0 pivots"});
  }

  Words bare;
  EXPECT_TRUE(bare.search(query, {.pivots = 2}).exact);  // nothing is there yet
  bare.add(texts);
  EXPECT_TRUE(bare.search(query, {.pivots = 0}).exact);
  const auto refused = [&](const auto& call) {
    test::expect_error(call, ErrorCode::invalid_argument, {"2 pivots", "without any"});
  };
  refused([&] { bare.search(query, {.pivots = 2}); });
  refused([&] { bare.within(query, {.radius = 1, .pivots = 2}); });
  refused([&] { bare.pairs({.count = 1, .pivots = 2}); });
  refused([&] { bare.pairs(query, {.count = 1, .pivots = 2}); });
}

// Whatever is in a file, it is refused, or searched without harm.
TEST(MetricQuick, DamagedFilesAreRefusedOrHarmless) {
  const test::TempFolder folder;
  Words index({}, {.pool = 10, .kept = 3});
  index.add(some_texts(100, 7));
  const std::string path = folder.path("words");
  index.save(path);
  const std::string whole = folder.get("words");
  const std::vector<std::string> query{"abc"};
  Random random(8);
  std::int64_t refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = whole;
    if (round % 4 == 0) {
      damaged.resize(static_cast<std::size_t>(random.below(std::ssize(whole))));
    } else {
      for (int i = 0; i < 3; ++i) {
        damaged[static_cast<std::size_t>(random.below(std::ssize(whole)))] =
            static_cast<char>(random.below(256));
      }
    }
    folder.put("words", damaged);
    try {
      verify_metric_index(path, object_metric("edit"));
    } catch (const Error&) {
      ++refused;
    }
    try {
      Words opened = Words::open(path);
      opened.search(query, {.k = 5});
      opened.within(query, {.radius = 3});
      opened.add(query);
      opened.index().remove(std::vector<std::int64_t>{3});
      opened.save(folder.path("copy"));
    } catch (const Error&) {
    }
  }
  EXPECT_GT(refused, 350);  // a few change nothing
  folder.put("words", whole);
  verify_metric_index(path, object_metric("edit"));
  test::expect_error([&] { MetricIndex::open(path, object_metric("damerau")); },
                     ErrorCode::invalid_argument, {"'edit'", "'damerau'"});
}

TEST(MetricQuick, AFileSaysWhatItIs) {
  const test::TempFolder folder;
  const std::string path = folder.path("words");
  Words index({}, {.pool = 10, .kept = 3, .bits = 5});
  index.add(some_texts(100, 10));
  index.save(path);
  const auto info = metric_file_info(path);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->metric, "edit");
  EXPECT_EQ(info->objects, 100);
  EXPECT_EQ(info->pivots, 10);
  EXPECT_EQ(info->kept, 3);
  EXPECT_EQ(info->bits, 5);
  EXPECT_TRUE(info->signatures);
  EXPECT_EQ(info->bytes, std::ssize(folder.get("words")));
  verify_index(path);
  verify_metric_index(path);
  test::expect_error([&] { Index::open(path); }, ErrorCode::invalid_argument,
                     {"index of objects", "MetricIndex", "'edit'"});

  PivotIndex<double, Line> own(Line{}, {.pool = 0});
  own.add(some_places(5));
  own.save(path);
  EXPECT_EQ(metric_file_info(path)->pivots, 0);
  test::expect_error([&] { verify_index(path); }, ErrorCode::unsupported,
                     {"'of the caller'", "none of the library's", "verify_metric_index"});

  Index({.dtype = DType::f32, .cols = 2}).save(path);
  EXPECT_FALSE(metric_file_info(path));
  test::expect_error([&] { Words::open(path); }, ErrorCode::invalid_argument,
                     {"index of vectors", "Index"});
}

// Of no name of their own.
TEST(MetricQuick, MetricsOfOneNameAreToldApart) {
  const test::TempFolder folder;
  const std::string path = folder.path("places");
  const auto scaled = [](double by) {
    return [by](double a, double b) { return by * std::abs(a - b); };
  };
  using Index = PivotIndex<double, decltype(scaled(1))>;
  Index index(scaled(1), {.pool = 4});
  index.add(some_places(50));
  index.index().remove(std::vector<std::int64_t>{0, 2});  // others are the first of the file
  index.save(path);
  EXPECT_EQ(Index::open(path, scaled(1)).index().size(), 48);
  EXPECT_EQ(Index::open(path, scaled(1 + 1e-9)).index().size(), 48);  // another compiler's rounding
  test::expect_error([&] { Index::open(path, scaled(2)); }, ErrorCode::invalid_argument,
                     {"another metric", "'of the caller'"});
  test::expect_error([&] { Index::open(path, scaled(NAN)); }, ErrorCode::invalid_argument,
                     {"another metric"});

  const std::vector<double> plain{2, 0.5, 0.5, 3};
  const std::vector<double> other{2, 0.5, 0.5, 4};
  using Forms = PivotIndex<std::vector<double>, QuadraticFormDistance>;
  Forms forms{QuadraticFormDistance(plain)};
  forms.add(std::vector<std::vector<double>>{{1, 2}, {3, 4}});
  forms.save(path);
  EXPECT_EQ(Forms::open(path, QuadraticFormDistance(plain)).index().size(), 2);
  test::expect_error([&] { Forms::open(path, QuadraticFormDistance(other)); },
                     ErrorCode::invalid_argument, {"quadratic form:2:", "not"});
}

}  // namespace
}  // namespace nearfield
