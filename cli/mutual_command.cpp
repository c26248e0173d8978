// `nearfield mutual`: rows that are each other's nearest, of one set or between two.
#include <algorithm>
#include <memory>

#include <nearfield/mutual.hpp>

#include "result_files.hpp"
#include "search_command.hpp"
#include "search_commands.hpp"

namespace nearfield::cli {
namespace {

void run_mutual(const SearchArguments<MutualOptions>& args, Mode mode) {
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  const Task task = task_of("mutual", args.search.metric, input);
  check_ids_fit(args.output.ids, std::max(task.rows, task.queries.value_or(0)));
  plan_or_run(
      mode, args, input, task,
      [&](const Context& context) {
        return of_one_or_two(
            input, [&](const auto&... sets) { return plan_mutual(sets..., args.search, context); });
      },
      [&](const Context& context) {
        return of_one_or_two(
            input, [&](const auto&... sets) { return mutual(sets..., args.search, context); });
      },
      [&](const Pairs& found) { write_results(args.output, found); });
}

}  // namespace

void add_mutual_command(CLI::App& app, Mode mode) {
  CLI::App& command =
      add_search_command(app, mode,
                         {"mutual", "Rows that are each other's nearest, of one set or between two",
                          "descriptors of two images that choose each other",
                          "--queries q.fbin --base b.fbin --output matches.csv"});
  const auto args = std::make_shared<SearchArguments<MutualOptions>>();
  add_queries(command, args->input,
              "Pair the rows of this vector file with those of the base; without it, the base with "
              "itself, each pair once");
  add_base(command, args->input);
  add_metric(command, args->search.metric, args->search.check_finite);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_result_files(command, args->output, "two columns, closest pair first");
  add_report_options(command, args->output);
  command.callback([args, mode] { run_mutual(*args, mode); });
}

}  // namespace nearfield::cli
