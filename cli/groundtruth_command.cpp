// `nearfield groundtruth`: the answers to measure approximate indexes with, in one file.
#include <cstdint>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/files.hpp>
#include <nearfield/knn.hpp>

#include "interrupt.hpp"
#include "search_command.hpp"
#include "search_commands.hpp"
#include "truth_name.hpp"

namespace nearfield::cli {
namespace {

constexpr std::int64_t kUsualK = 100;

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

void write(const OutputPath& output, const Neighbors& found) {
  if (output.given()) {
    write_truth(output.path, found.ids, found.distances, found.queries, found.k, interrupt_token());
  }
}

void run_groundtruth(const SearchArguments<KnnOptions>& args, Mode mode) {
  check_truth_name(args.output.ids.option, args.output.ids.path);
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  KnnOptions options = args.search;
  options.filter = input.filter();
  Task task = task_of("groundtruth", options.metric, input);
  task.k = options.k;
  check_rows(args.output.ids, task.rows);
  plan_or_run(
      mode, args, input, task,
      [&](const Context& context) {
        return plan_knn(*input.queries, *input.base, options, context);
      },
      [&](const Context& context) { return knn(*input.queries, *input.base, options, context); },
      [&](const Neighbors& found) { write(args.output.ids, found); });
}

}  // namespace

void add_groundtruth_command(CLI::App& app, Mode mode) {
  CLI::App& command =
      add_search_command(app, mode,
                         {"groundtruth", "As knn, into one file of big-ann's ground truth",
                          "the 100 nearest, in 1 GiB however large the base",
                          "--queries q.fbin --base b.fbin --memory-limit 1G --output truth.bin"});
  const auto args = std::make_shared<SearchArguments<KnnOptions>>();
  args->search.k = kUsualK;
  args->output.ids.endings.clear();
  add_queries_and_base(command, args->input);
  add_knn_options(command, args->search);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_output_file(command, args->output.ids,
                  "Write uint32 queries and k, all ids (uint32), all distances (float32)");
  add_report_options(command, args->output);
  command.callback([args, mode] { run_groundtruth(*args, mode); });
}

}  // namespace nearfield::cli
