// `nearfield tune`: measures a device, so that what is fastest there is chosen.
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nearfield/output_file.hpp>
#include <nearfield/tune.hpp>

#include "names.hpp"
#include "options.hpp"
#include "search_run.hpp"
#include "value_commands.hpp"

namespace nearfield::cli {
namespace {

struct TuneArguments {
  TuneOptions tune;
  RunOptions run;
  OutputPath output{"--output", {".json"}, {}};
  bool quiet = false;
};

void run_tune(const TuneArguments& args) {
  check_output_paths(std::array{args.output}, {});
  const auto start = std::chrono::steady_clock::now();
  Context context = context_of(args.run, {});
  context.cancel = cancel_on_interrupt();
  std::string table;
  {
    ProgressBar bar("shapes");
    if (!args.quiet) context.progress = [&bar](const Progress& done) { bar.show(done); };
    table = tune(args.tune, context);
  }
  OutputFile file(args.output.path, interrupt_token());
  file.write(table);
  file.commit();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (!args.quiet) {
    fmt::print(stderr, "tuned {} in {:.1f} s; it is used where NEARFIELD_TUNING names '{}'\n",
               args.run.context.device, time.count(), args.output.path);
  }
}

}  // namespace

void add_tune_command(CLI::App& app) {
  CLI::App& command =
      add_search_command(app, Mode::run,
                         {"tune", "Measure a device, so that what is fastest there is chosen",
                          "a first look", "--device opencl --effort quick --output tuning.json"});
  const auto args = std::make_shared<TuneArguments>();
  add_device_options(command, args->run);
  command.get_option("--device")->required()->default_str("");
  add_parsed(command, "--effort", args->tune.effort, parse_tune_effort,
             fmt::format("How much is measured, one of {}: some minutes, or many",
                         fmt::join(effort_names(), ", ")))
      ->group("Run")
      ->type_name("EFFORT")
      ->default_str("full");
  add_timeout(command, args->run);
  add_output_file(command, args->output, "Write what was measured");
  command.get_option("--output")->required();
  command.add_flag("--quiet", args->quiet, "No progress and no summary on standard error")
      ->group(kOutput);
  command.callback([args] { run_tune(*args); });
}

}  // namespace nearfield::cli
