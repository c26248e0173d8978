#include "knn_report.hpp"

#include <fmt/format.h>
#include <nearfield/version.hpp>

#include "json.hpp"
#include "rate.hpp"

namespace nearfield::cli {
namespace {

double pairs_per_second(const Stats& stats) {
  return stats.seconds > 0 ? static_cast<double>(stats.pairs_considered) / stats.seconds : 0;
}

JsonObject task_json(const KnnTask& task) {
  JsonObject json;
  json.add("nearfield", version())
      .add("command", "knn")
      .add("metric", to_string(task.metric))
      .add("k", task.k)
      .add("queries", task.queries)
      .add("rows", task.rows)
      .add("dims", task.dims);
  return json;
}

JsonObject plan_json(const Plan& plan) {
  JsonObject json;
  json.add("isa", to_string(plan.isa))
      .add("filter", plan.filter)
      .add("kernel", plan.kernel)
      .add("selector", plan.selector)
      .add("threads", plan.threads)
      .add("query_batch", plan.query_batch)
      .add("base_chunk", plan.base_chunk)
      .add("passes", plan.passes)
      .add("query_tile", plan.query_tile)
      .add("row_tile", plan.row_tile)
      .add("row_parts", plan.row_parts)
      .add("pairs", plan.pairs)
      .add("result_bytes", plan.result_bytes)
      .add("working_bytes", plan.working_bytes);
  return json;
}

JsonObject stats_json(const Stats& stats) {
  JsonObject json;
  json.add("seconds", stats.seconds)
      .add("pairs_considered", stats.pairs_considered)
      .add("pairs_verified", stats.pairs_verified)
      .add("pairs_per_second", pairs_per_second(stats));
  return json;
}

}  // namespace

std::string summary(const KnnTask& task, const Stats& stats) {
  return fmt::format("{} queries x {} rows, {} dims, {}: {:.3f} s, {} pairs/s, {}, {} thread{}",
                     task.queries, task.rows, task.dims, to_string(task.metric), stats.seconds,
                     with_prefix(pairs_per_second(stats)), to_string(stats.plan.isa),
                     stats.plan.threads, stats.plan.threads == 1 ? "" : "s");
}

std::string to_json(const KnnTask& task, const Plan& plan) {
  return task_json(task).add("plan", plan_json(plan)).text();
}

std::string to_json(const KnnTask& task, const Neighbors& neighbors) {
  return task_json(task)
      .add("exact", neighbors.exact)
      .add("stats", stats_json(neighbors.stats))
      .add("plan", plan_json(neighbors.stats.plan))
      .text();
}

}  // namespace nearfield::cli
