// What a search command says about its search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nearfield/dedup.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/select.hpp>
#include <nearfield/stats.hpp>

#include "search_options.hpp"
#include "search_run.hpp"

namespace nearfield::cli {

struct Task {
  std::string_view command;
  std::optional<MetricSpec> metric;     // empty where values are there already
  std::optional<std::int64_t> queries;  // empty where one set is searched with its own rows
  std::int64_t rows;
  std::int64_t dims;
  std::optional<std::int64_t> k = {};
  std::optional<double> radius = {};
  std::optional<std::int64_t> count = {};
};

Task task_of(std::string_view command, MetricSpec metric, const SearchInput& input);

struct Outcome {
  std::int64_t found;  // neighbours, rows or pairs, of all queries together
  bool exact;
  Stats stats;
  std::optional<std::int64_t> groups = {};  // that they are in
};

Outcome outcome_of(const Neighbors& found);
Outcome outcome_of(const Ranges& found);
Outcome outcome_of(const Pairs& found);
Outcome outcome_of(const Selected& found);
// Found are the rows that have one before them in their group: the duplicates.
Outcome outcome_of(const DuplicateGroups& found);

// On standard output: text for people, or one JSON object for programs.
void print_plan(const Task& task, const Plan& plan, const OutputOptions& output);

// One line for people on standard error, and with --json one object on standard output.
void print_outcome(const Task& task, const Outcome& outcome, const OutputOptions& output);

}  // namespace nearfield::cli
