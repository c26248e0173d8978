// `nearfield knn`: the nearest rows of a base for each query.
#include <memory>

#include <nearfield/knn.hpp>

#include "report.hpp"
#include "result_files.hpp"
#include "search_commands.hpp"
#include "search_run.hpp"

namespace nearfield::cli {
namespace {

struct KnnArguments {
  InputOptions input;
  KnnOptions search;
  RunOptions run;
  OutputOptions output;
};

void run_knn(const KnnArguments& args, Mode mode) {
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  const Context context = context_of(args.run, input);
  KnnOptions options = args.search;
  options.filter = input.filter();
  Task task = task_of("knn", options.metric, input);
  task.k = options.k;
  check_ids_fit(args.output.ids, task.rows);
  check_distances_fit(args.output.distances, options.k);
  if (mode == Mode::plan) {
    print_plan(task, plan_knn(*input.queries, *input.base, options, context), args.output);
    return;
  }
  const Neighbors found = run_watched(context, args.output.quiet, [&](const Context& watched) {
    return knn(*input.queries, *input.base, options, watched);
  });
  write_results(args.output, found);
  print_outcome(task, outcome_of(found), args.output);
}

}  // namespace

void add_knn_command(CLI::App& app, Mode mode) {
  CLI::App& command = add_search_command(
      app, mode,
      {"knn", "The k nearest base rows of each query", "the 10 nearest base rows of each query",
       "--queries q.fbin --base b.fbin -k 10 --output ids.ibin --distances d.fbin"});
  const auto args = std::make_shared<KnnArguments>();
  add_queries(command, args->input, "Vector file of the queries")->required();
  add_base(command, args->input);
  add_filter(command, args->input);
  add_k(command, args->search.k);
  add_metric(command, args->search.metric, args->search.check_finite);
  add_exclude_self(command, args->search.exclude_self);
  add_run_options(command, args->run);
  add_result_files(command, args->output, "nearest first, -1 where there is none");
  add_report_options(command, args->output);
  command.callback([args, mode] { run_knn(*args, mode); });
}

}  // namespace nearfield::cli
