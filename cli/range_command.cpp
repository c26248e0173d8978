// `nearfield range`: every base row within a radius of each query.
#include <memory>
#include <optional>

#include <nearfield/within.hpp>

#include "result_files.hpp"
#include "search_command.hpp"
#include "search_commands.hpp"

namespace nearfield::cli {
namespace {

struct RangeArguments : SearchArguments<WithinOptions> {
  std::optional<double> radius;  // always given when the command runs
};

void run_range(const RangeArguments& args, Mode mode) {
  check_offsets(args.output);
  check_outputs(args.output, args.input, mode);
  const SearchInput input = open_input(args.input);
  WithinOptions options = args.search;
  options.radius = *args.radius;
  options.filter = input.filter();
  Task task = task_of("range", options.metric, input);
  task.radius = options.radius;
  check_ids_fit(args.output.ids, task.rows);
  plan_or_run(
      mode, args, input, task,
      [&](const Context& context) {
        return plan_within(*input.queries, *input.base, options, context);
      },
      [&](const Context& context) { return within(*input.queries, *input.base, options, context); },
      [&](const Ranges& found) { write_results(args.output, found); });
}

}  // namespace

void add_range_command(CLI::App& app, Mode mode) {
  CLI::App& command =
      add_search_command(app, mode,
                         {"range", "Every base row within a radius of each query",
                          "the rows at most 0.5 away, query after query",
                          "--queries q.fbin --base b.fbin --radius 0.5 --metric euclidean \\\n"
                          "      --output ids.npy --distances d.npy --offsets offsets.npy"});
  const auto args = std::make_shared<RangeArguments>();
  add_queries_and_base(command, args->input);
  add_radius(command, args->radius)->required();
  add_metric(command, args->search.metric, args->search.check_finite);
  add_exclude_self(command, args->search.exclude_self);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_result_files(command, args->output, "of all queries in one column, nearest first");
  add_output_file(command, args->output.offsets,
                  "Write where each query begins in that column, and where the last one ends");
  add_report_options(command, args->output);
  command.callback([args, mode] { run_range(*args, mode); });
}

}  // namespace nearfield::cli
