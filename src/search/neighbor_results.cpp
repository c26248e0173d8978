#include "search/neighbor_results.hpp"

#include <algorithm>
#include <limits>

#include "core/checked.hpp"
#include "core/fill.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// Queries whose results are written by one task.
constexpr std::int64_t kResultsPerTask = 256;

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

}  // namespace

std::int64_t result_bytes(std::int64_t queries, std::int64_t k) {
  constexpr std::int64_t kSlot = sizeof(std::int64_t) + sizeof(double) + sizeof(float);
  const std::int64_t slots = checked_mul(queries, k, "queries x k");
  return checked_add(checked_mul(slots, kSlot, "bytes of the result"),
                     queries * static_cast<std::int64_t>(sizeof(std::int64_t)),
                     "bytes of the result");
}

Neighbors nothing_found(std::int64_t queries, std::int64_t k, MetricSpec metric,
                        const Monitor& monitor) {
  Neighbors result;
  result.queries = queries;
  result.k = k;
  const std::int64_t slots = queries * k;
  const double none = std::numeric_limits<double>::infinity();
  const bool similarity = info(metric).reported == Reported::similarity;
  fill(result.ids, slots, kNoId, monitor);
  fill(result.keys, slots, none, monitor);
  fill(result.distances, slots, static_cast<float>(similarity ? -none : none), monitor);
  fill(result.counts, queries, std::int64_t{0}, monitor);
  return result;
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

void put_results(std::span<const std::int64_t> queries, const Neighbors& found, Neighbors& result) {
  const auto copy_row = [&](const auto& from, std::int64_t row, auto& to, std::int64_t query) {
    std::copy_n(from.begin() + row * found.k, found.k, to.begin() + query * found.k);
  };
  for (std::int64_t row = 0; row < found.queries; ++row) {
    const std::int64_t query = queries[static_cast<std::size_t>(row)];
    copy_row(found.ids, row, result.ids, query);
    copy_row(found.keys, row, result.keys, query);
    copy_row(found.distances, row, result.distances, query);
    result.counts[static_cast<std::size_t>(query)] = found.counts[static_cast<std::size_t>(row)];
  }
  result.stats.pairs_verified += found.stats.pairs_verified;
  result.exact = result.exact && found.exact;
}

}  // namespace nearfield
