#include "report.hpp"

#include <cstdio>
#include <numeric>

#include <fmt/format.h>
#include <nearfield/version.hpp>

#include "json.hpp"
#include "rate.hpp"
#include "standard_output.hpp"

namespace nearfield::cli {
namespace {

double pairs_per_second(const Stats& stats) {
  return stats.seconds > 0 ? static_cast<double>(stats.pairs_considered) / stats.seconds : 0;
}

template <class T>
void add_if(JsonObject& json, std::string_view name, const std::optional<T>& value) {
  if (value) {
    json.add(name, *value);
  }
}

JsonObject task_json(const Task& task) {
  JsonObject json;
  json.add("nearfield", version()).add("command", task.command);
  if (task.metric) {
    json.add("metric", to_string(*task.metric));
  }
  add_if(json, "k", task.k);
  add_if(json, "radius", task.radius);
  add_if(json, "count", task.count);
  add_if(json, "queries", task.queries);
  json.add("rows", task.rows).add(task.metric ? "dims" : "cols", task.dims);
  return json;
}

JsonObject plan_json(const Plan& plan) {
  JsonObject json;
  json.add("device", plan.device)
      .add("isa", to_string(plan.isa))
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
      .add("working_bytes", plan.working_bytes)
      .add("filter_row_bytes", plan.filter_row_bytes)
      .add("expected_recall", plan.expected_recall)
      .add("note", plan.note);
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

// "knn: 2 queries x 4 rows, 2 dims, euclidean, k 3".
std::string task_text(const Task& task) {
  std::string text = fmt::format("{}: ", task.command);
  if (task.queries) {
    text += fmt::format("{} queries x ", *task.queries);
  }
  text += fmt::format("{} rows, {} {}", task.rows, task.dims, task.metric ? "dims" : "columns");
  if (task.metric) {
    text += fmt::format(", {}", to_string(*task.metric));
  }
  if (task.k) {
    text += fmt::format(", k {}", *task.k);
  }
  if (task.radius) {
    text += fmt::format(", radius {}", *task.radius);
  }
  if (task.count) {
    text += fmt::format(", count {}", *task.count);
  }
  return text;
}

// Without a k or a count, how much is found is known only at the end.
bool size_is_known(const Task& task) { return task.k || task.count; }

std::string plan_text(const Task& task, const Plan& plan) {
  return fmt::format(
      "search    {}\n{}{}", task_text(task), to_string(plan),
      size_is_known(task) ? "" : "found     not known before: what is found takes more bytes\n");
}

// What computed.
std::string where_text(const Plan& plan) {
  if (plan.device != "cpu") {
    return plan.device;
  }
  return fmt::format("{}, {} thread{}", to_string(plan.isa), plan.threads,
                     plan.threads == 1 ? "" : "s");
}

std::string summary(const Task& task, const Outcome& outcome) {
  const std::string groups =
      outcome.groups ? fmt::format(" in {} groups", *outcome.groups) : std::string();
  return fmt::format("{}: {} found{} in {:.3f} s, {} {}/s, {}\n", task_text(task), outcome.found,
                     groups, outcome.stats.seconds, with_prefix(pairs_per_second(outcome.stats)),
                     task.metric ? "pairs" : "values", where_text(outcome.stats.plan));
}

}  // namespace

Task task_of(std::string_view command, MetricSpec metric, const SearchInput& input) {
  Task task{command, metric, {}, input.base->rows(), input.base->cols()};
  if (input.queries) {
    task.queries = input.queries->rows();
  }
  return task;
}

Outcome outcome_of(const Neighbors& found) {
  const auto count = std::accumulate(found.counts.begin(), found.counts.end(), std::int64_t{0});
  return {count, found.exact, found.stats};
}

Outcome outcome_of(const Selected& found) {
  const auto count = std::accumulate(found.counts.begin(), found.counts.end(), std::int64_t{0});
  return {count, true, found.stats};
}

Outcome outcome_of(const Ranges& found) {
  return {static_cast<std::int64_t>(found.ids.size()), found.exact, found.stats};
}

Outcome outcome_of(const Pairs& found) {
  return {static_cast<std::int64_t>(found.first.size()), found.exact, found.stats};
}

Outcome outcome_of(const DuplicateGroups& found) {
  const std::int64_t groups = std::ssize(found.offsets) - 1;
  return {std::ssize(found.rows) - groups, true, found.stats, groups};
}

void print_plan(const Task& task, const Plan& plan, const OutputOptions& output) {
  print_result(output.json ? task_json(task).add("plan", plan_json(plan)).text()
                           : plan_text(task, plan));
}

void print_outcome(const Task& task, const Outcome& outcome, const OutputOptions& output) {
  if (!output.quiet) {
    fmt::print(stderr, "{}", summary(task, outcome));
  }
  if (output.json) {
    JsonObject json = task_json(task);
    json.add("exact", outcome.exact).add("found", outcome.found);
    add_if(json, "groups", outcome.groups);
    json.add("stats", stats_json(outcome.stats)).add("plan", plan_json(outcome.stats.plan));
    print_result(json.text() + "\n");
  }
}

}  // namespace nearfield::cli
