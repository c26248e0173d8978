// `nearfield select`: the first of each row of values that are there already.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/select.hpp>

#include "loaded_rows.hpp"
#include "options.hpp"
#include "report.hpp"
#include "result_files.hpp"
#include "search_run.hpp"
#include "value_commands.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

struct SelectArguments {
  std::string values;
  SelectOptions select;
  RunOptions run;
  OutputOptions output;
};

void run_select(const SelectArguments& args) {
  check_outputs(args.output, {{}, args.values, {}, {}}, Mode::run);
  Context context = context_of(args.run, {});
  const LoadedRows loaded(args.values, {}, context);
  const ValuesView values = loaded.view();
  check_distances_fit(args.output.distances, args.select.k);
  check_values_fit(args.output.distances, values.dtype());
  Task task{"select", {}, {}, values.rows(), values.cols()};
  task.k = args.select.k;
  const Selected found = run_watched(context, args.output.quiet, [&](const Context& watched) {
    return select_k(values, args.select, watched);
  });
  write_results(args.output, found, values.dtype());
  print_outcome(task, outcome_of(found), args.output);
}

}  // namespace

void add_select_command(CLI::App& app) {
  CLI::App& command = add_search_command(
      app, Mode::run,
      {"select", "The k smallest or largest of each row of values",
       "the 2 largest of each row, as text", "b.fbin -k 2 --largest --output largest.csv"});
  const auto args = std::make_shared<SelectArguments>();
  add_path(command, "VALUES", args->values,
           "File of float32 or float64, such as distances or scores: .fbin, .fvecs, .npy")
      ->group(kInput)
      ->required();
  add_k(command, args->select.k, "How many of each row");
  add_largest(command, args->select.largest);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_output_file(command, args->output.ids,
                  "Write their columns, the first first, -1 where there is none");
  add_output_file(command, args->output.distances, "Write the values, in the type they have");
  add_report_options(command, args->output);
  command.callback([args] { run_select(*args); });
}

}  // namespace nearfield::cli
