#include "search/knn.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.hpp"
#include "core/fill.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "scan/top_k_sink.hpp"
#include "search/engine.hpp"

namespace nearfield {
namespace {

constexpr const char* kAdvice = "ask for fewer queries at a time or fewer results of each";

// Queries whose results are written by one task.
constexpr std::int64_t kResultsPerTask = 256;

// Slots that are not found.
Neighbors empty_result(std::int64_t queries, const KnnOptions& options, const Monitor& monitor) {
  Neighbors result;
  result.queries = queries;
  result.k = options.k;
  const std::int64_t slots = queries * options.k;
  const double none = std::numeric_limits<double>::infinity();
  const bool similarity = info(options.metric).reported == Reported::similarity;
  fill(result.ids, slots, kNoId, monitor);
  fill(result.keys, slots, none, monitor);
  fill(result.distances, slots, static_cast<float>(similarity ? -none : none), monitor);
  fill(result.counts, queries, std::int64_t{0}, monitor);
  return result;
}

void write_result(std::int64_t query, std::span<const Neighbor> best, MetricSpec metric,
                  Neighbors& result) {
  result.counts[static_cast<std::size_t>(query)] = static_cast<std::int64_t>(best.size());
  auto slot = static_cast<std::size_t>(query * result.k);
  for (const Neighbor& neighbor : best) {
    result.ids[slot] = neighbor.id;
    result.keys[slot] = neighbor.key;
    result.distances[slot] = static_cast<float>(reported_value(metric, neighbor.key));
    ++slot;
  }
}

void write_results(Range batch, TopKSink& sink, MetricSpec metric, int threads,
                   const Monitor& monitor, Neighbors& result) {
  run_tasks(divide_up(batch.size(), kResultsPerTask), threads, [&](std::int64_t task, int) {
    const DefaultFloats floats;
    const std::int64_t begin = batch.begin + task * kResultsPerTask;
    const std::int64_t end = std::min(begin + kResultsPerTask, batch.end);
    for (std::int64_t query = begin; query < end; ++query) {
      write_result(query, sink.finish(query), metric, result);
      monitor.check();
    }
  });
}

std::int64_t result_bytes(std::int64_t queries, std::int64_t k) {
  constexpr std::int64_t kSlot = sizeof(std::int64_t) + sizeof(double) + sizeof(float);
  const std::int64_t slots = checked_mul(queries, k, "queries x k");
  return checked_add(checked_mul(slots, kSlot, "bytes of the result"),
                     queries * static_cast<std::int64_t>(sizeof(std::int64_t)),
                     "bytes of the result");
}

void check_after(std::span<const Neighbor> after, std::int64_t queries) {
  if (!after.empty() && static_cast<std::int64_t>(after.size()) != queries) {
    fail(ErrorCode::invalid_argument, "`after` has an entry for each of {} queries, got {}",
         queries, after.size());
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (std::isnan(after[i].key)) {
      fail(ErrorCode::invalid_argument, "`after` of query {} has the key NaN", i);
    }
  }
}

Engine plan_search(const RowSource& queries, const RowSource& base, const KnnOptions& options,
                   const Context& context, const Tuning& tuning) {
  if (options.k < 0 || options.k > kMaxRows) {
    fail(ErrorCode::invalid_argument, "k is 0 to {}, got {}", kMaxRows, options.k);
  }
  check_after(options.after, queries.rows());
  Engine engine({queries, base, options.metric, options.filter,
                 options.exclude_self ? Meets::other_rows : Meets::every_row, options.check_finite},
                context);
  engine.plan({.sink_of_a_query = TopKSink::bytes_per_query(std::min(options.k, base.rows())),
               .result = result_bytes(queries.rows(), options.k),
               .threshold_rank = std::max<std::int64_t>(options.k, 1)},
              "buffered selection", tuning);
  return engine;
}

}  // namespace

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context, const Tuning& tuning) {
  Engine engine = plan_search(queries, base, options, context, tuning);
  return with_memory_errors(engine.plan(), kAdvice, [&] {
    Monitor monitor(context, engine.plan().pairs);
    Neighbors result = empty_result(queries.rows(), options, monitor);
    result.stats = engine.run(
        monitor,
        [&](Range batch) {
          return std::make_unique<TopKSink>(batch, std::min(options.k, base.rows()), options.after);
        },
        [&](Range batch, Sink& sink) {
          write_results(batch, static_cast<TopKSink&>(sink), options.metric, engine.plan().threads,
                        monitor, result);
        });
    monitor.finish();
    result.exact = engine.exact();
    return result;
  });
}

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context) {
  return knn(queries, base, options, context, default_tuning());
}

Plan plan_knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context) {
  return plan_search(queries, base, options, context, default_tuning()).plan();
}

std::vector<Neighbor> last_of(const Neighbors& found) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr Neighbor kBeforeAll{-kInfinity, -1};
  constexpr Neighbor kAfterAll{kInfinity, std::numeric_limits<std::int64_t>::max()};
  if (found.k == 0) return std::vector(static_cast<std::size_t>(found.queries), kBeforeAll);
  std::vector<Neighbor> last;
  last.reserve(static_cast<std::size_t>(found.queries));
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const bool full = found.counts[static_cast<std::size_t>(query)] == found.k;
    last.push_back(full ? Neighbor{found.keys_of(query).back(), found.ids_of(query).back()}
                        : kAfterAll);
  }
  return last;
}

}  // namespace nearfield
