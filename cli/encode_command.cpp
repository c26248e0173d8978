// `nearfield encode`: vectors of a file to codes of a quantizer, a block at a time.
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nearfield/quantize.hpp>

#include "options.hpp"
#include "search_run.hpp"
#include "value_commands.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

struct EncodeArguments {
  std::string vectors;
  std::string quantizer;
  RunOptions run;
  OutputPath output{"--output", {".u8bin"}, {}};
  bool quiet = false;
};

void run_encode(const EncodeArguments& args) {
  check_output_paths(std::array{args.output}, std::array{args.vectors, args.quantizer});
  const auto start = std::chrono::steady_clock::now();
  const Quantizer quantizer = Quantizer::open(args.quantizer);
  const auto rows = open_vectors(args.vectors);
  Context context = context_of(args.run, {});
  context.cancel = cancel_on_interrupt();
  std::int64_t before = 0;
  {
    ProgressBar bar("vectors");
    if (!args.quiet) context.progress = [&bar](const Progress& done) { bar.show(done); };
    before = encode_file(quantizer, *rows, args.output.path, context);
  }
  if (args.quiet) return;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  fmt::print(stderr, "{} vectors of {} columns to {} bytes each in {:.1f} s", rows->rows(),
             rows->cols(), quantizer.code_bytes(), time.count());
  if (before > 0) fmt::print(stderr, "; {} were done before", before);
  fmt::print(stderr, "\n");
}

}  // namespace

void add_encode_command(CLI::App& app) {
  CLI::App& command = add_search_command(
      app, Mode::run,
      {"encode", "Vectors to codes of a quantizer; goes on where it was stopped",
       "codes of a large file", "--vectors v.fbin --quantizer q.safetensors --output codes.u8bin"});
  const auto args = std::make_shared<EncodeArguments>();
  add_path(command, "--vectors", args->vectors, "Vectors to encode; need not fit into memory")
      ->required()
      ->group(kInput)
      ->type_name("FILE");
  add_path(command, "--quantizer", args->quantizer, "A quantizer that was saved")
      ->required()
      ->group(kInput)
      ->type_name("FILE");
  add_run_options(command, args->run);
  add_output_file(command, args->output, "Write the codes, a row each");
  command.get_option("--output")->required();
  command.add_flag("--quiet", args->quiet, "No progress and no summary on standard error")
      ->group(kOutput);
  command.callback([args] { run_encode(*args); });
}

}  // namespace nearfield::cli
