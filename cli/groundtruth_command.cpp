// `nearfield groundtruth`: the answers to measure approximate indexes with, in one file.
#include <cstdint>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/files.hpp>
#include <nearfield/knn.hpp>

#include "interrupt.hpp"
#include "report.hpp"
#include "search_commands.hpp"
#include "search_run.hpp"
#include "truth_name.hpp"

namespace nearfield::cli {
namespace {

constexpr std::int64_t kUsualK = 100;

struct TruthArguments {
  InputOptions input;
  KnnOptions search = {.k = kUsualK};
  RunOptions run;
  OutputOptions output;
};

// Its ids are uint32, of which the largest means that there is none.
void check_rows(const OutputPath& output, std::int64_t rows) {
  constexpr std::int64_t kMostRows = std::numeric_limits<std::uint32_t>::max();
  if (output.given() && rows > kMostRows) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: ground truth holds ids of at most {} rows, the base has {}: use "
                            "'nearfield knn', which writes .npy",
                            output.path, kMostRows, rows));
  }
}

void run_groundtruth(const TruthArguments& args, Mode mode) {
  check_truth_name(args.output.ids.option, args.output.ids.path);
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  const Context context = context_of(args.run, input);
  KnnOptions options = args.search;
  options.filter = input.filter();
  Task task = task_of("groundtruth", options.metric, input);
  task.k = options.k;
  check_rows(args.output.ids, task.rows);
  if (mode == Mode::plan) {
    print_plan(task, plan_knn(*input.queries, *input.base, options, context), args.output);
    return;
  }
  const Neighbors found = run_watched(context, args.output.quiet, [&](const Context& watched) {
    return knn(*input.queries, *input.base, options, watched);
  });
  if (args.output.ids.given()) {
    write_truth(args.output.ids.path, found.ids, found.distances, found.queries, found.k,
                interrupt_token());
  }
  print_outcome(task, outcome_of(found), args.output);
}

}  // namespace

void add_groundtruth_command(CLI::App& app, Mode mode) {
  CLI::App& command =
      add_search_command(app, mode,
                         {"groundtruth", "As knn, into one file of big-ann's ground truth",
                          "the 100 nearest, in 1 GiB however large the base",
                          "--queries q.fbin --base b.fbin --memory-limit 1G --output truth.bin"});
  const auto args = std::make_shared<TruthArguments>();
  args->output.ids.endings.clear();
  add_queries(command, args->input, "Vector file of the queries")->required();
  add_base(command, args->input);
  add_filter(command, args->input);
  add_k(command, args->search.k);
  add_metric(command, args->search.metric, args->search.check_finite);
  add_exclude_self(command, args->search.exclude_self);
  add_run_options(command, args->run);
  add_output_file(command, args->output.ids,
                  "Write uint32 queries and k, all ids (uint32), all distances (float32)");
  add_report_options(command, args->output);
  command.callback([args, mode] { run_groundtruth(*args, mode); });
}

}  // namespace nearfield::cli
