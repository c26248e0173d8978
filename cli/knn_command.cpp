// `nearfield knn`: the nearest rows of a base for each query.
#include <memory>

#include <nearfield/knn.hpp>

#include "result_files.hpp"
#include "search_command.hpp"
#include "search_commands.hpp"

namespace nearfield::cli {
namespace {

void run_knn(const SearchArguments<KnnOptions>& args, Mode mode) {
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  KnnOptions options = args.search;
  options.filter = input.filter();
  Task task = task_of("knn", options.metric, input);
  task.k = options.k;
  check_ids_fit(args.output.ids, task.rows);
  check_distances_fit(args.output.distances, options.k);
  plan_or_run(
      mode, args, input, task,
      [&](const Context& context) {
        return plan_knn(*input.queries, *input.base, options, context);
      },
      [&](const Context& context) { return knn(*input.queries, *input.base, options, context); },
      [&](const Neighbors& found) { write_results(args.output, found); });
}

}  // namespace

void add_knn_command(CLI::App& app, Mode mode) {
  CLI::App& command = add_search_command(
      app, mode,
      {"knn", "The k nearest base rows of each query", "the 10 nearest base rows of each query",
       "--queries q.fbin --base b.fbin -k 10 --output ids.ibin --distances d.fbin"});
  const auto args = std::make_shared<SearchArguments<KnnOptions>>();
  add_queries_and_base(command, args->input);
  add_knn_options(command, args->search);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_result_files(command, args->output, "nearest first, -1 where there is none");
  add_report_options(command, args->output);
  command.callback([args, mode] { run_knn(*args, mode); });
}

}  // namespace nearfield::cli
