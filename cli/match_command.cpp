// `nearfield match`: descriptors of two images that belong together.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nearfield/match.hpp>

#include "counts.hpp"
#include "match_colmap.hpp"
#include "names.hpp"
#include "options.hpp"
#include "result_files.hpp"
#include "search_command.hpp"
#include "search_commands.hpp"

namespace nearfield::cli {
namespace {

void run_match(const SearchArguments<MatchOptions>& args, Mode mode) {
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  const Task task = task_of("match", args.search.metric, input);
  check_ids_fit(args.output.ids, std::max(task.rows, task.queries.value_or(0)));
  plan_or_run(
      mode, args, input, task,
      [&](const Context& context) {
        return plan_match(*input.queries, *input.base, args.search, context);
      },
      [&](const Context& context) {
        return match(*input.queries, *input.base, args.search, context);
      },
      [&](const Pairs& found) { write_results(args.output, found); });
}

struct MatchArguments : SearchArguments<MatchOptions> {
  ColmapArguments colmap;
};

// COLMAP's, but for what was given.
MatchOptions colmap_rules(const CLI::App& command, const MatchOptions& given) {
  MatchOptions rules = MatchOptions::colmap();
  if (command.count("--ratio") > 0) rules.ratio = given.ratio;
  if (command.count("--margin") > 0) rules.margin = given.margin;
  if (command.count("--max-distance") > 0) rules.max_distance = given.max_distance;
  if (command.count("--cross-check") > 0) rules.cross_check = given.cross_check;
  return rules;
}

// What is of files of vectors would be ignored.
void check_of_colmap(const CLI::App& command, Mode mode) {
  if (mode == Mode::plan) {
    throw CLI::ValidationError("--colmap", "a plan is of two images: --queries and --base");
  }
  for (const char* other :
       {"--queries", "--base", "--bits", "--metric", "--check-finite", "--output", "--distances"}) {
    if (command.count(other) > 0) throw CLI::ExcludesError("--colmap", other);
  }
}

void run_match_command(const CLI::App& command, const MatchArguments& args, Mode mode) {
  if (!args.colmap.database.empty()) {
    check_of_colmap(command, mode);
    match_colmap(args.colmap, colmap_rules(command, args.search), args.run, args.output);
    return;
  }
  for (const char* needed : {"--queries", "--base"}) {
    if (command.count(needed) == 0) throw CLI::RequiredError(needed);
  }
  run_match(args, mode);
}

std::optional<double> parse_ratio(const std::string& text) {
  return text == "none" ? std::nullopt : std::optional(parse_number(text));
}

void add_tests(CLI::App& command, MatchOptions& options) {
  add_parsed(command, "--ratio", options.ratio, parse_ratio,
             "The nearest must be nearer than so many times the second nearest, both as true "
             "distances; none: any is accepted")
      ->group(kSearch)
      ->type_name("R")
      ->default_str("0.8");
  add_parsed(command, "--margin", options.margin, parse_number,
             "The nearest must be so much nearer than the second nearest")
      ->group(kSearch)
      ->type_name("D");
  add_parsed(command, "--max-distance", options.max_distance, parse_number,
             "The nearest must be at most so far")
      ->group(kSearch)
      ->type_name("D");
  add_parsed(command, "--cross-check", options.cross_check, parse_cross_check,
             fmt::format("What must hold from the other side, one of {}: nothing, that it is the "
                         "nearest there too, or that it also passes the tests",
                         fmt::join(cross_check_names(), ", ")))
      ->group(kSearch)
      ->type_name("CHECK")
      ->default_str("nearest");
}

}  // namespace

void add_match_command(CLI::App& app, Mode mode) {
  CLI::App& command = add_search_command(
      app, mode,
      {"match", "Descriptors of two images that belong together: two nearest, ratio, cross check",
       "SIFT descriptors of two images",
       "--queries q.fbin --base b.fbin --ratio 0.8 --output matches.csv"});
  const auto args = std::make_shared<MatchArguments>();
  add_queries(command, args->input, "Descriptors of the first image");
  add_base(command, args->input)->required(false);  // of a database there is none
  add_metric(command, args->search.metric, args->search.check_finite);
  add_tests(command, args->search);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_result_files(command, args->output, "two columns, closest pair first");
  add_report_options(command, args->output,
                     "task, plan and statistics, or with --colmap counts and statistics,");
  add_colmap_options(command, args->colmap);
  command.callback([args, mode, &command] { run_match_command(command, *args, mode); });
}

}  // namespace nearfield::cli
