// Random operations on an index of objects and on a std::map searched by brute force.
// NEARFIELD_MODEL_OPERATIONS says how many of each kind of index; where NEARFIELD_TEST_DEVICE names
// a device, every other search is its.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nearfield/error.hpp>
#include <nearfield/object_metrics.hpp>
#include <nearfield/pivot_index.hpp>

#include "core/random.hpp"
#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/texts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

// Of each kind of index; `usual` where nobody says.
std::int64_t metric_operations(std::int64_t usual) {
  const char* const asked = std::getenv("NEARFIELD_MODEL_OPERATIONS");
  return asked != nullptr ? std::atoll(asked) : usual;
}

// Empty: the CPU alone.
std::string metric_model_device() {
  const char* const name = std::getenv("NEARFIELD_TEST_DEVICE");
  return name == nullptr ? "" : name;
}

using Point = std::vector<double>;

struct LineOfFloats {
  static constexpr double slack = 1e-6;
  double operator()(std::span<const double> a, std::span<const double> b) const {
    float sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<float>(std::abs(a[i] - b[i]));
    return sum;
  }
};

struct LineOnDevices : LineOfFloats {
  static constexpr std::string_view device_source = R"(
double nearfield_distance(__global const uchar* a, uint a_bytes, __global const uchar* b,
                          uint b_bytes) {
  float sum = 0;
  for (uint i = 0; i < a_bytes / 8; ++i) {
    sum += (float)fabs(((__global const double*)a)[i] - ((__global const double*)b)[i]);
  }
  return sum;
}
)";
};

// With a signature: its first number, rounded down.
struct SignedEuclidean {
  double operator()(std::span<const double> a, std::span<const double> b) const {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
  }
  std::array<std::int8_t, 1> signature(std::span<const double> a) const {
    return {static_cast<std::int8_t>(std::clamp(std::floor(a[0]), -128.0, 127.0))};
  }
  double bound(const std::array<std::int8_t, 1>& a, const std::array<std::int8_t, 1>& b) const {
    return std::max(std::abs(a[0] - b[0]) - 1, 0);
  }
};

std::string some_model_text(Random& random) { return test::some_text(random, 9); }

// Few values, so that many distances are equal.
double some_eighths(Random& random) { return static_cast<double>(random.below(40)) / 8 - 2.5; }

template <std::int64_t kNumbers>
Point some_numbers(Random& random) {
  Point point(static_cast<std::size_t>(kNumbers));
  std::generate(point.begin(), point.end(), [&] { return some_eighths(random); });
  return point;
}

// One to four points of two numbers.
Point some_points(Random& random) {
  Point points(static_cast<std::size_t>(2 * (1 + random.below(4))));
  std::generate(points.begin(), points.end(), [&] { return some_eighths(random); });
  return points;
}

// Rows of a weight and a point of two.
Point some_weighted_points(Random& random) {
  Point points(static_cast<std::size_t>(3 * (1 + random.below(3))));
  std::generate(points.begin(), points.end(), [&] { return std::abs(some_eighths(random)); });
  return points;
}

// Four bins, which have 12 between them.
Point some_histogram(Random& random) {
  Point bins(4);
  for (int i = 0; i < 12; ++i) ++bins[static_cast<std::size_t>(random.below(4))];
  return bins;
}

std::vector<std::uint64_t> some_members(Random& random) {
  std::vector<std::uint64_t> members;
  for (std::uint64_t member = 0; member < 12; ++member) {
    if (random.below(3) == 0) members.push_back(member);
  }
  return members;
}

// What is kept of a metric, and what is tried of it.
template <class T, class Metric>
struct ModelCase {
  Metric metric;
  T (*make)(Random&);
  // Asked for every pair; it need not be the metric's own code.
  std::function<double(const T&, const T&)> truth;
  double largest_radius;
  // False: its signatures are code for the CPU.
  bool on_devices = true;
  // False: a distance may have other bits the other way round.
  bool symmetric = true;
};

template <class T, class Metric>
class MetricModel {
 public:
  MetricModel(const ModelCase<T, Metric>& of, const PivotOptions& options, std::uint64_t seed)
      : case_(of), random_(seed), index_(of.metric, options) {}

  void step() {
    switch (random_.below(objects_.size() > 300 ? 16 : 12)) {
      case 0:
      case 1:
        return add_with_ids();
      case 2:
        return add_with_numbers();
      case 3:
        return refuse();
      case 4:
        return look();
      case 5:
      case 6:
        return search();
      case 7:
        return range();
      case 8:
        return random_.below(4) == 0 ? pairs() : look();
      case 9:
        if (random_.below(20) == 0) index_.index().rebuild(context());
        return look();
      case 10:
        return random_.below(20) == 0 ? reopen() : look();
      default:
        return remove();
    }
  }

  std::string state() const {
    const MetricIndexStats stats = index_.index().stats();
    return fmt::format("'{}': {} objects, {} removed, {} of {} pivots kept",
                       index_.index().metric().name(), stats.size, stats.removed, stats.kept,
                       stats.pivots);
  }

 private:
  // Some ISA, and some number of threads.
  Context context() {
    const auto& isas = contract::swept_isas();
    Context context =
        contract::forced(isas[static_cast<std::size_t>(random_.below(std::ssize(isas)))]);
    context.threads = static_cast<int>(1 + random_.below(2));
    context.seed = static_cast<std::uint64_t>(random_.below(5));
    return context;
  }
  // The same, on the device or not.
  Context search_context() {
    Context context = this->context();
    if (case_.on_devices && random_.below(2) == 0) context.device = device_;
    return context;
  }
  std::vector<T> some_objects(std::int64_t count) {
    std::vector<T> objects;
    for (std::int64_t i = 0; i < count; ++i) objects.push_back(case_.make(random_));
    return objects;
  }
  std::int64_t some_id() {
    const std::int64_t id = random_.below(900) - 100;
    return id == kNoId ? -2 : id;
  }

  void add_with_ids() {
    std::map<std::int64_t, T> added;
    for (std::int64_t i = random_.below(random_.below(30) == 0 ? 120 : 8); i > 0; --i) {
      const std::int64_t id = some_id();
      if (!objects_.contains(id)) added[id] = some_objects(1).front();
    }
    std::vector<std::int64_t> ids;
    std::vector<T> objects;
    // Not in the order of their ids.
    for (const auto& [id, object] : added) {
      const auto at = random_.below(std::ssize(ids) + 1);
      ids.insert(ids.begin() + at, id);
      objects.insert(objects.begin() + at, object);
    }
    index_.add(objects, ids, context());
    for (const auto& [id, object] : added) take(id, object);
  }
  void add_with_numbers() {
    const std::vector<T> objects = some_objects(random_.below(5));
    const std::int64_t first = index_.add(objects, context());
    ASSERT_EQ(first, next_);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      take(first + static_cast<std::int64_t>(i), objects[i]);
    }
  }
  void take(std::int64_t id, const T& object) {
    objects_[id] = object;
    next_ = std::max(next_, id + 1);
  }
  void remove() {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = random_.below(6); i > 0; --i) ids.push_back(some_id());
    for (auto object = objects_.begin();
         object != objects_.end() && objects_.size() > 300 && ids.size() < 60; ++object) {
      if (random_.below(3) == 0) ids.push_back(object->first);
    }
    std::int64_t there = 0;
    for (const std::int64_t id : ids) there += static_cast<std::int64_t>(objects_.erase(id));
    ASSERT_EQ(index_.index().remove(ids), there);
  }
  void look() {
    ASSERT_EQ(index_.index().size(), std::ssize(objects_));
    const std::int64_t id = some_id();
    const auto object = objects_.find(id);
    ASSERT_EQ(index_.index().contains(id), object != objects_.end()) << id;
    if (object == objects_.end()) return;
    const std::vector<std::byte> got = index_.index().get(id);
    const ObjectView want = ObjectBytes<T>::bytes(object->second);
    ASSERT_TRUE(std::equal(got.begin(), got.end(), want.begin(), want.end())) << id;
  }
  // What is refused changes nothing.
  void refuse() {
    if (objects_.empty()) return;
    constexpr std::int64_t kNew = std::int64_t{1} << 40;
    const std::vector<T> two = some_objects(2);
    EXPECT_THROW(index_.add(two, std::vector{kNew, objects_.begin()->first}), Error);
    EXPECT_THROW(index_.add(two, std::vector{kNew, kNew}), Error);
    EXPECT_THROW(index_.add(two, std::vector{kNew, kNoId}), Error);
    EXPECT_THROW(index_.add(two, std::vector{kNew}), Error);
    ASSERT_FALSE(index_.index().contains(kNew));
  }
  void reopen() {
    const std::string path = folder_.path("index");
    index_.save(path, context());
    verify_metric_index(path, object_metric_of<T>(case_.metric));
    auto opened = PivotIndex<T, Metric>::open(path, case_.metric);
    ASSERT_EQ(opened.index().size(), std::ssize(objects_));
    if (random_.below(2) == 0) index_ = std::move(opened);
  }

  std::vector<Neighbor> all_from(const T& query) const {
    std::vector<Neighbor> all;
    for (const auto& [id, object] : objects_) all.push_back({case_.truth(query, object), id});
    std::sort(all.begin(), all.end());
    return all;
  }
  // None or all where there are none, of which to look at some is an error.
  std::optional<std::int64_t> some_pivots() {
    const std::int64_t most = index_.index().stats().pivots > 0 ? 6 : 1;
    return random_.below(3) == 0 ? std::optional(random_.below(most)) : std::nullopt;
  }

  void search() {
    const std::vector<T> queries = some_objects(1 + random_.below(6));
    MetricSearchOptions options;
    options.k = random_.below(14);
    options.pivots = some_pivots();
    if (random_.below(4) == 0) options.budget = random_.below(2 * std::ssize(objects_) + 1);
    const Context where = search_context();
    const Neighbors got = index_.search(queries, options, where);
    const MetricIndexStats stats = index_.index().stats();
    // A device computes what it lists, also of objects that were removed.
    const std::int64_t listed = where.device.empty() ? 0 : stats.removed;
    const std::int64_t most = std::ssize(objects_) + listed + stats.pivots;
    ASSERT_LE(got.stats.pairs_verified,
              std::min(options.budget.value_or(most), most) * std::ssize(queries));
    ASSERT_TRUE(got.exact || options.budget);
    const Plan& plan = got.stats.plan;
    ASSERT_TRUE(where.device.empty() || plan.filter.ends_with("on the device") ||
                plan.note.starts_with("on the CPU"))
        << plan.filter << "; " << plan.note;
    if (!got.exact) return;
    for (std::int64_t query = 0; query < std::ssize(queries); ++query) {
      const std::vector<Neighbor> all = all_from(queries[static_cast<std::size_t>(query)]);
      const std::int64_t count = std::min(options.k, std::ssize(all));
      ASSERT_EQ(got.counts[static_cast<std::size_t>(query)], count);
      for (std::size_t i = 0; i < static_cast<std::size_t>(options.k); ++i) {
        const bool found = static_cast<std::int64_t>(i) < count;
        ASSERT_EQ(got.ids_of(query)[i], found ? all[i].id : kNoId);
        ASSERT_EQ(got.keys_of(query)[i], found ? all[i].key : INFINITY);
      }
    }
  }
  void range() {
    const std::vector<T> queries = some_objects(1 + random_.below(3));
    MetricRangeOptions options;
    options.radius = std::floor(random_.uniform() * (case_.largest_radius + 1) * 8) / 8;
    options.pivots = some_pivots();
    options.ids_only = random_.below(3) == 0;
    const Ranges got = index_.within(queries, options, search_context());
    ASSERT_TRUE(got.exact);
    ASSERT_EQ(got.keys.size(), options.ids_only ? 0 : got.ids.size());
    std::size_t next = 0;
    for (std::size_t query = 0; query < queries.size(); ++query) {
      ASSERT_EQ(got.offsets[query], static_cast<std::int64_t>(next));
      std::vector<Neighbor> near = all_from(queries[query]);
      std::erase_if(near, [&](const Neighbor& one) { return one.key > options.radius; });
      if (options.ids_only) {
        std::sort(near.begin(), near.end(),
                  [](const Neighbor& a, const Neighbor& b) { return a.id < b.id; });
      }
      for (const Neighbor& neighbor : near) {
        ASSERT_LT(next, got.ids.size());
        ASSERT_EQ(got.ids[next], neighbor.id);
        ASSERT_TRUE(options.ids_only || got.keys[next] == neighbor.key);
        ++next;
      }
    }
    ASSERT_EQ(next, got.ids.size());
  }
  void pairs() {
    struct Pair {
      double key;
      std::int64_t first;
      std::int64_t second;
      auto operator<=>(const Pair&) const = default;
    };
    const bool one_set = case_.symmetric && random_.below(2) == 0;
    const std::vector<T> others = some_objects(one_set ? 0 : random_.below(20));
    std::vector<Pair> want;
    for (const auto& [id, object] : objects_) {
      for (auto other = objects_.upper_bound(id); one_set && other != objects_.end(); ++other) {
        want.push_back({case_.truth(object, other->second), id, other->first});
      }
      for (std::size_t i = 0; i < others.size(); ++i) {
        want.push_back({case_.truth(others[i], object), static_cast<std::int64_t>(i), id});
      }
    }
    std::sort(want.begin(), want.end());
    MetricPairsOptions options;
    if (random_.below(2) == 0)
      options.radius = std::floor(random_.uniform() * case_.largest_radius);
    if (random_.below(2) == 0 || !options.radius) options.count = random_.below(50);
    if (options.radius) std::erase_if(want, [&](const Pair& p) { return p.key > *options.radius; });
    if (options.count && std::ssize(want) > *options.count) {
      want.resize(static_cast<std::size_t>(*options.count));
    }
    const Context where = search_context();
    const Pairs got = one_set ? index_.pairs(options, where) : index_.pairs(others, options, where);
    ASSERT_TRUE(got.exact);
    ASSERT_EQ(got.keys.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ((Pair{got.keys[i], got.first[i], got.second[i]}), want[i]);
    }
  }

  const ModelCase<T, Metric> case_;
  const std::string device_ = metric_model_device();
  Random random_;
  test::TempFolder folder_;
  PivotIndex<T, Metric> index_;
  std::map<std::int64_t, T> objects_;
  std::int64_t next_ = 0;
};

template <class T, class Metric>
void expect_agreement(const ModelCase<T, Metric>& of, std::span<const PivotOptions> all_options,
                      std::int64_t operations) {
  std::uint64_t seed = 1;
  for (const PivotOptions& options : all_options) {
    MetricModel<T, Metric> model(of, options, seed++);
    for (std::int64_t i = 0; i < operations; ++i) {
      ASSERT_NO_FATAL_FAILURE(model.step()) << "operation " << i << " of " << model.state();
    }
  }
}

// By its own distances: what they are is tested elsewhere, here what an index makes of them.
template <class T, class Metric>
void expect_agreement_with_itself(const Metric& metric, T (*make)(Random&), double largest_radius,
                                  bool symmetric = true) {
  const PivotOptions options[] = {{.pool = 7}, {.pool = 16, .kept = 4, .bits = 5}};
  const auto truth = [metric](const T& a, const T& b) { return metric(a, b); };
  const ModelCase<T, Metric> of{metric, make, truth, largest_radius, true, symmetric};
  expect_agreement(of, options, metric_operations(500));
}

const std::vector<PivotOptions>& all_pivot_options() {
  static const std::vector<PivotOptions> options{
      {},
      {.kept = 2},
      {.pool = 5, .choice = PivotChoice::random},
      {.pool = 12, .kept = 3, .choice = PivotChoice::incremental, .choice_budget = 2'000},
      {.pool = 20, .kept = 4, .bits = 3, .signatures = false},
  };
  return options;
}

TEST(MetricModel, EditAgreesWithBruteForce) {
  const auto truth = [](const std::string& a, const std::string& b) {
    return static_cast<double>(test::textbook_edit(a, b));
  };
  expect_agreement<std::string, EditDistance>({{}, &some_model_text, truth, 5}, all_pivot_options(),
                                              metric_operations(2'000));
}

TEST(MetricModel, FloatsAgreeWithBruteForce) {
  const auto truth = [](const Point& a, const Point& b) { return LineOfFloats()(a, b); };
  expect_agreement<Point, LineOfFloats>({{}, &some_numbers<3>, truth, 6}, all_pivot_options(),
                                        metric_operations(2'000));
}

TEST(MetricModel, AFunctionForDevicesAgreesWithBruteForce) {
  if (!metric_model_device().starts_with("opencl")) GTEST_SKIP() << "no device with a compiler";
  const auto truth = [](const Point& a, const Point& b) { return LineOfFloats()(a, b); };
  expect_agreement<Point, LineOnDevices>({{}, &some_numbers<3>, truth, 6}, all_pivot_options(),
                                         metric_operations(500));
}

TEST(MetricModel, SignaturesOfTheCallerAgreeWithBruteForce) {
  const auto truth = [](const Point& a, const Point& b) { return SignedEuclidean()(a, b); };
  const PivotOptions options[] = {{}, {.pool = 6}};
  expect_agreement<Point, SignedEuclidean>({{}, &some_numbers<3>, truth, 4, false}, options,
                                           metric_operations(2'000));
}

TEST(MetricModel, DamerauAgreesWithItself) {
  expect_agreement_with_itself(DamerauDistance(), &some_model_text, 5);
}
TEST(MetricModel, JaccardAgreesWithItself) {
  expect_agreement_with_itself(JaccardDistance(), &some_members, 1);
}
TEST(MetricModel, AngularAgreesWithItself) {
  expect_agreement_with_itself(AngularDistance(), &some_numbers<3>, 2);
}
TEST(MetricModel, LpAgreesWithItself) {
  for (const double p : {1.0, 1.5, 2.0, static_cast<double>(INFINITY)}) {
    SCOPED_TRACE(p);
    expect_agreement_with_itself(LpDistance(p), &some_numbers<3>, 5);
  }
}
TEST(MetricModel, HausdorffAgreesWithItself) {
  expect_agreement_with_itself(HausdorffDistance(2), &some_points, 3);
}
TEST(MetricModel, EarthMoversAgreesWithItself) {
  const EarthMoversDistance metric({0, 1, 2, 3, 1, 0, 1, 2, 2, 1, 0, 1, 3, 2, 1, 0});
  expect_agreement_with_itself(metric, &some_histogram, 20);
}
TEST(MetricModel, QuadraticFormAgreesWithItself) {
  const std::vector<double> matrix = {2, 0.5, 0, 0.5, 1, 0.25, 0, 0.25, 3};
  expect_agreement_with_itself(QuadraticFormDistance(matrix), &some_numbers<3>, 6);
}
TEST(MetricModel, SignatureQuadraticFormAgreesWithItself) {
  expect_agreement_with_itself(SignatureQuadraticFormDistance(2, 0.5), &some_weighted_points, 3,
                               false);
}

}  // namespace
}  // namespace nearfield
