// `nearfield graph`: the nearest others of every row.
#include <memory>

#include <nearfield/graph.hpp>

#include "result_files.hpp"
#include "search_command.hpp"
#include "search_commands.hpp"

namespace nearfield::cli {
namespace {

void run_graph(const SearchArguments<GraphOptions>& args, Mode mode) {
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  GraphOptions options = args.search;
  options.filter = input.filter();
  Task task = task_of("graph", options.metric, input);
  task.k = options.k;
  check_ids_fit(args.output.ids, task.rows);
  check_distances_fit(args.output.distances, options.k);
  plan_or_run(
      mode, args, input, task,
      [&](const Context& context) { return plan_graph(*input.base, options, context); },
      [&](const Context& context) { return graph(*input.base, options, context); },
      [&](const Neighbors& found) { write_results(args.output, found); });
}

}  // namespace

void add_graph_command(CLI::App& app, Mode mode) {
  CLI::App& command = add_search_command(
      app, mode,
      {"graph", "The k nearest other rows of every row",
       "the 5 nearest others of every row, as text", "--base b.fbin -k 5 --output graph.csv"});
  const auto args = std::make_shared<SearchArguments<GraphOptions>>();
  add_base(command, args->input);
  add_filter(command, args->input);
  add_k(command, args->search.k);
  add_metric(command, args->search.metric, args->search.check_finite);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_result_files(command, args->output, "nearest first, -1 where there is none");
  add_report_options(command, args->output);
  command.callback([args, mode] { run_graph(*args, mode); });
}

}  // namespace nearfield::cli
