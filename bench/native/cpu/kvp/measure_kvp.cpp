// Measures the figures of pivots of a thesis about similarity search on this CPU:
//   measure_kvp FIGURE... --device cpu --size quick --rounds 3
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nearfield/metric_index.hpp>
#include <nearfield/within.hpp>

#include "bench/native/cpu/program.hpp"
#include "cli/json.hpp"
#include "core/random.hpp"

namespace nearfield::bench {
namespace {

using cli::JsonArray;
using cli::JsonObject;

// Of the thesis's Fig. 2.4. Its tables leave out the radius, the pool and what an object keeps: the
// figure `sweep` says what they change.
constexpr double kRadius = 0.4;
constexpr std::int64_t kPool = 50;
constexpr std::int64_t kKept = 8;

constexpr std::uint64_t kKvpRowSeed = 2010;
constexpr std::uint64_t kKvpQuerySeed = 1;

// A function that the index knows nothing of, as the thesis's is.
struct EuclideanOfFloats {
  double operator()(std::span<const float> a, std::span<const float> b) const {
    std::array<double, 4> sums{};
    for (std::size_t i = 0; i < a.size(); i += sums.size()) {
      for (std::size_t j = 0; j < sums.size(); ++j) {
        const double difference = double{a[i + j]} - double{b[i + j]};
        sums[j] += difference * difference;
      }
    }
    return std::sqrt((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
};

Matrix cube_vectors(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix vectors(DType::f32, rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    Random random(seed, static_cast<std::uint64_t>(i));
    std::generate_n(reinterpret_cast<float*>(vectors.row(i)), cols,
                    [&] { return static_cast<float>(random.uniform()); });
  }
  return vectors;
}

std::vector<ObjectView> views_of_rows(const Matrix& vectors) {
  std::vector<ObjectView> views;
  views.reserve(static_cast<std::size_t>(vectors.rows()));
  const auto bytes = static_cast<std::size_t>(vectors.cols()) * sizeof(float);
  for (std::int64_t i = 0; i < vectors.rows(); ++i) views.emplace_back(vectors.row(i), bytes);
  return views;
}

// Vectors, and who is within the radius of each query, by the exact tile scan.
class KvpPlace {
 public:
  KvpPlace(std::int64_t queries, std::int64_t rows, std::int64_t cols)
      : base_(cube_vectors(rows, cols, kKvpRowSeed)),
        queries_(cube_vectors(queries, cols, kKvpQuerySeed)),
        objects_(views_of_rows(base_)),
        asked_(views_of_rows(queries_)) {}

  const Matrix& base() const { return base_; }
  const Matrix& queries() const { return queries_; }

  Ranges tile_scan(double radius) const {
    return within(queries_, base_, {.radius = radius, .metric = Metric::euclidean});
  }
  MetricIndex index(const PivotOptions& options) const {
    MetricIndex index(
        std::make_shared<TypedMetric<std::vector<float>, EuclideanOfFloats>>(EuclideanOfFloats{}),
        options);
    index.add(objects_);
    return index;
  }
  // Of the first `asked` queries.
  Ranges search(const MetricIndex& index, double radius, std::int64_t asked) const {
    const std::span<const ObjectView> all = asked_;
    return index.within(all.first(static_cast<std::size_t>(asked)), {.radius = radius});
  }

 private:
  Matrix base_;
  Matrix queries_;
  std::vector<ObjectView> objects_;
  std::vector<ObjectView> asked_;
};

// Distances of both round differently, and so may order what they find. Of as many queries as were
// asked.
void check_answer(const std::string& series, const Ranges& found, const Ranges& expected) {
  const auto sorted = [](const Ranges& ranges, std::size_t query) {
    std::vector<std::int64_t> ids(ranges.ids.begin() + ranges.offsets[query],
                                  ranges.ids.begin() + ranges.offsets[query + 1]);
    std::ranges::sort(ids);
    return ids;
  };
  for (std::size_t query = 0; query + 1 < found.offsets.size(); ++query) {
    if (sorted(found, query) != sorted(expected, query)) {
      throw std::runtime_error(
          fmt::format("{}: query {} has another answer than the tile scan", series, query));
    }
  }
}

class KvpMeasuring {
 public:
  explicit KvpMeasuring(const CpuSettings& settings) : settings_(settings) {}

  // 5.1: by dimension. And 5.3: by the number of objects.
  void by_dimension() {
    for (const std::int64_t cols : sized<std::vector<std::int64_t>>(
             {16, 32}, {16, 64, 160}, {16, 32, 48, 64, 80, 96, 112, 128, 144, 160})) {
      three_ways("5.1", KvpPlace(queries(), unit(), cols));
    }
  }
  void by_objects() {
    for (const std::int64_t times :
         sized<std::vector<std::int64_t>>({1, 2}, {1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) {
      three_ways("5.3", KvpPlace(queries(), times * unit(), 16));
    }
  }

  // 2.4: distances over the pivots that an object keeps.
  void by_kept() {
    const KvpPlace place(queries(), unit(), 20);
    const Ranges expected = place.tile_scan(kRadius);
    for (const std::int64_t kept : sized<std::vector<std::int64_t>>(
             {2, 8}, {1, 2, 4, 8, 16, 32, 50}, {1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 50})) {
      for (const std::int64_t pool : {kPool, 4 * kPool}) {
        time_index("2.4", fmt::format("KVP {}", pool), place, kRadius, expected,
                   {.pool = pool, .kept = kept, .choice = PivotChoice::random}, kept);
      }
      // As many random pivots, the same of all objects.
      time_index("2.4", "random", place, kRadius, expected,
                 {.pool = kept, .choice = PivotChoice::random}, kept);
    }
  }

  // What the tables leave out.
  void sweep() {
    const KvpPlace place(queries(), unit(), 16);
    for (const double radius : {0.2, 0.4, 0.8}) {
      const Ranges expected = place.tile_scan(radius);
      for (const std::int64_t kept : {4, 8, 16, 32}) {
        time_index("sweep", fmt::format("KVP, radius {}", radius), place, radius, expected,
                   {.pool = kPool, .kept = kept}, kept);
      }
      time("sweep", fmt::format("exact tile scan, radius {}", radius), place, 0, expected,
           queries(), [&] { return place.tile_scan(radius); });
    }
  }

 private:
  template <class Value>
  Value sized(Value tiny, Value quick, Value full) const {
    if (settings_.size == "tiny") return tiny;
    return settings_.size == "quick" ? quick : full;
  }
  std::int64_t unit() const { return std::int64_t{1} << sized(10, 16, 20); }
  std::int64_t queries() const { return sized(8, 100, 1000); }
  // A scan takes as long for each query, and all together a large part of an hour: at full size a
  // tenth of them is asked, and their time is of ten times as many.
  std::int64_t scanned() const { return sized(8, 100, 100); }

  void three_ways(const std::string& figure, const KvpPlace& place) const {
    const Ranges expected = place.tile_scan(kRadius);
    const MetricIndex scan = place.index({.pool = 0});
    time(figure, "linear scan", place, 0, expected, scanned(),
         [&] { return place.search(scan, kRadius, scanned()); });
    const double share =
        time_index(figure, "KVP", place, kRadius, expected, {.pool = kPool, .kept = kKept}, 0);
    time(figure, "exact tile scan", place, 0, expected, queries(),
         [&] { return place.tile_scan(kRadius); });
    print_note(figure, fmt::format("n {}, d {}: KVP computes {:.3g} % of the distances",
                                   place.base().rows(), place.base().cols(), 100 * share));
  }

  // The share of distances that were computed. kept: of the place in the figure; 0 where that is
  // one for all series.
  double time_index(const std::string& figure, const std::string& series, const KvpPlace& place,
                    double radius, const Ranges& expected, const PivotOptions& options,
                    std::int64_t kept) const {
    const MetricIndex index = place.index(options);
    return time(figure, series, place, kept, expected, queries(),
                [&] { return place.search(index, radius, queries()); });
  }

  // asked: so many of the queries. Times are of all.
  double time(const std::string& figure, const std::string& series, const KvpPlace& place,
              std::int64_t kept, const Ranges& expected, std::int64_t asked,
              const std::function<Ranges()>& search) const {
    const double times = static_cast<double>(queries()) / static_cast<double>(asked);
    const Ranges found = search();
    check_answer(series, found, expected);
    // The first of all reads memory that nobody read before, which is nothing beside seconds.
    const bool counts = found.stats.seconds > 1;
    JsonArray rounds;
    if (counts) rounds.add_number(fmt::format("{}", times * found.stats.seconds));
    for (int round = counts ? 1 : 0; round < settings_.rounds; ++round) {
      rounds.add_number(fmt::format("{}", times * search().stats.seconds));
    }
    const double distances =
        static_cast<double>(found.stats.pairs_verified) / static_cast<double>(asked);
    print(JsonObject()
              .add("figure", figure)
              .add("series", series)
              .add("timed", "call")
              .add("checked", true)
              .add("q", place.queries().rows())
              .add("sampled", asked)
              .add("n", place.base().rows())
              .add("d", place.base().cols())
              .add("kept", kept)
              .add("distances", distances)
              .add("rounds", rounds));
    return distances / static_cast<double>(place.base().rows());
  }

  CpuSettings settings_;
};

}  // namespace
}  // namespace nearfield::bench

int main(int argc, char** argv) {
  using namespace nearfield::bench;
  return measure_on_cpu("measure_kvp", argc, argv, [](const CpuSettings& settings) -> CpuFigures {
    KvpMeasuring measuring(settings);
    return {{"2.4", [=]() mutable { measuring.by_kept(); }},
            {"5.1", [=]() mutable { measuring.by_dimension(); }},
            {"5.3", [=]() mutable { measuring.by_objects(); }},
            {"sweep", [=]() mutable { measuring.sweep(); }}};
  });
}
