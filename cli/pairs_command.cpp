// `nearfield pairs`: the closest pairs of rows, of one set or between two.
#include <algorithm>
#include <memory>

#include <nearfield/pairs.hpp>

#include "result_files.hpp"
#include "search_command.hpp"
#include "search_commands.hpp"

namespace nearfield::cli {
namespace {

void run_pairs(const SearchArguments<PairsOptions>& args, Mode mode) {
  if (!args.search.radius && !args.search.count) {
    throw CLI::RequiredError("at least one of --radius and --count");
  }
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  Task task = task_of("pairs", args.search.metric, input);
  task.radius = args.search.radius;
  task.count = args.search.count;
  check_ids_fit(args.output.ids, std::max(task.rows, task.queries.value_or(0)));
  plan_or_run(
      mode, args, input, task,
      [&](const Context& context) {
        return of_one_or_two(
            input, [&](const auto&... sets) { return plan_pairs(sets..., args.search, context); });
      },
      [&](const Context& context) {
        return of_one_or_two(
            input, [&](const auto&... sets) { return pairs(sets..., args.search, context); });
      },
      [&](const Pairs& found) { write_results(args.output, found); });
}

}  // namespace

void add_pairs_command(CLI::App& app, Mode mode) {
  CLI::App& command = add_search_command(
      app, mode,
      {"pairs", "The closest pairs of rows, of one set or between two",
       "the 100 closest pairs that are at most 0.5 apart",
       "--base b.fbin --count 100 --radius 0.5 --metric euclidean --output pairs.csv"});
  const auto args = std::make_shared<SearchArguments<PairsOptions>>();
  add_queries(command, args->input,
              "Pair the rows of this vector file with those of the base; without it, the base with "
              "itself, each pair once");
  add_base(command, args->input);
  add_radius(command, args->search.radius);
  add_count(command, args->search.count);
  add_metric(command, args->search.metric, args->search.check_finite);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_result_files(command, args->output, "two columns, closest pair first");
  add_report_options(command, args->output);
  command.callback([args, mode] { run_pairs(*args, mode); });
}

}  // namespace nearfield::cli
