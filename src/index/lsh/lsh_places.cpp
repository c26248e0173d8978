#include "index/lsh/lsh_places.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kQueriesOfATask = 16;

// Looked up by one task, sorted first where the table is: a few milliseconds.
constexpr std::int64_t kKeysOfATask = 1 << 14;

// Keys and places in the order of keys.
class SortedLookup {
 public:
  void find(const KeyTableView& table, std::span<const std::uint64_t> keys,
            std::span<KeyPlace> places) {
    order_.resize(keys.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
    sorted_.resize(keys.size());
    found_.resize(keys.size());
    for (std::size_t i = 0; i < order_.size(); ++i) sorted_[i] = keys[order_[i]];
    table.find(sorted_, found_);
    for (std::size_t i = 0; i < order_.size(); ++i) places[order_[i]] = found_[i];
  }

  static constexpr std::int64_t kBytesOfAKey =
      sizeof(std::uint32_t) + sizeof(std::uint64_t) + sizeof(KeyPlace);

 private:
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> sorted_;
  std::vector<KeyPlace> found_;
};

std::int64_t projections_of(const LshRun& run) {
  return run.functions.tables * run.functions.scheme.projections();
}

}  // namespace

void LshQueryHash::keys(std::span<const double> projections, std::int64_t table,
                        std::span<std::uint64_t> keys) {
  const auto count = static_cast<std::size_t>(functions_.scheme.projections());
  const std::span<const double> own =
      projections.subspan(static_cast<std::size_t>(table) * count, count);
  const std::span<const double> levels = functions_.levels_of(table);
  steps_.clear();
  if (keys.size() > 1) hash_.add_steps(own, levels, steps_);
  probes_.find(hash_.key(own, levels), steps_, keys);
}

LshPlaces::LshPlaces(MatrixView queries, const LshRun& run, std::int64_t probes, MetricSpec metric,
                     Isa isa, int threads, const Monitor& monitor)
    : queries_(queries.rows()),
      probes_(probes),
      keys_(run.functions.tables * queries_ * probes_),
      places_(run.functions.tables * queries_ * probes_) {
  const double begin = monitor.seconds();
  hash(queries, run, metric, isa, threads, monitor);
  const double hashed = monitor.seconds();
  look_up(run, threads, monitor);
  keys_ = {};
  hashing_seconds_ = hashed - begin;
  lookup_seconds_ = monitor.seconds() - hashed;
}

std::int64_t LshPlaces::bytes_of_a_query(const LshRun& run, std::int64_t probes) {
  return run.functions.tables * probes *
         static_cast<std::int64_t>(sizeof(std::uint64_t) + sizeof(KeyPlace));
}

std::int64_t LshPlaces::bytes_of_a_thread(const LshRun& run, std::int64_t probes) {
  constexpr std::int64_t kStep = sizeof(ProbeStep);
  constexpr std::int64_t kSet = 2 * 24;  // of the heap, which grows by doubling
  constexpr std::int64_t kE8Steps = 2 * 240;
  const std::int64_t hashing =
      projections_of(run) * static_cast<std::int64_t>(sizeof(double)) + 2 * kE8Steps * kStep +
      2 * probes * kSet +
      2 * run.functions.directions.cols() * static_cast<std::int64_t>(sizeof(double));
  return std::max(hashing, std::max(kKeysOfATask, probes) * SortedLookup::kBytesOfAKey);
}

void LshPlaces::hash(MatrixView queries, const LshRun& run, MetricSpec metric, Isa isa, int threads,
                     const Monitor& monitor) {
  const LshFunctions& functions = run.functions;
  run_tasks(divide_up(queries_, kQueriesOfATask), threads, [&](std::int64_t task, int) {
    const DefaultFloats floats;
    LshProjector projector(queries.dtype(), queries.cols(), metric, isa);
    LshQueryHash hash(functions);
    std::vector<double> projections(static_cast<std::size_t>(projections_of(run)));
    const std::int64_t end = std::min((task + 1) * kQueriesOfATask, queries_);
    for (std::int64_t query = task * kQueriesOfATask; query < end; ++query) {
      monitor.check();
      projector.load(queries.row(query));
      projector.project(functions.directions, projections);
      for (std::int64_t table = 0; table < functions.tables; ++table) {
        hash.keys(projections, table,
                  {keys_.data() + (table * queries_ + query) * probes_,
                   static_cast<std::size_t>(probes_)});
      }
    }
  });
}

void LshPlaces::look_up(const LshRun& run, int threads, const Monitor& monitor) {
  const std::int64_t of_a_table = queries_ * probes_;
  const std::int64_t tasks = divide_up(of_a_table, kKeysOfATask);
  run_tasks(run.functions.tables * tasks, threads, [&](std::int64_t task, int) {
    monitor.check();
    const KeyTableView& table = run.tables[static_cast<std::size_t>(task / tasks)];
    const std::int64_t begin = task % tasks * kKeysOfATask;
    const auto count = static_cast<std::size_t>(std::min(kKeysOfATask, of_a_table - begin));
    const std::int64_t at = task / tasks * of_a_table + begin;
    const std::span<const std::uint64_t> keys(keys_.data() + at, count);
    const std::span<KeyPlace> places(places_.data() + at, count);
    if (table.sorted()) {
      SortedLookup().find(table, keys, places);
    } else {
      table.find(keys, places);
    }
  });
}

}  // namespace nearfield
