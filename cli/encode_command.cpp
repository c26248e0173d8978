// `nearfield encode`: vectors of a file to codes of a quantizer, or to an index of them, a block at
// a time.
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nearfield/encode_index.hpp>
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
  EncodeIndexOptions index;
  OutputPath output{"--output", {".u8bin", ".nf"}, {}};
  bool quiet = false;
};

void check_index_options(const CLI::App& command, const OutputPath& output) {
  if (output.ends_in(".nf")) return;
  for (const char* const name : {"--metric", "--byte-norms"}) {
    if (command.count(name) > 0) {
      throw CLI::ValidationError(name, "belongs to an index: give --output a name ending in .nf");
    }
  }
}

std::int64_t encode(const EncodeArguments& args, const Quantizer& quantizer, const RowSource& rows,
                    const Context& context) {
  const std::string& path = args.output.path;
  return args.output.ends_in(".nf") ? encode_index(quantizer, rows, path, args.index, context)
                                    : encode_file(quantizer, rows, path, context);
}

void run_encode(const EncodeArguments& args) {
  check_output_paths(std::array{args.output}, std::array{args.vectors, args.quantizer});
  const auto start = std::chrono::steady_clock::now();
  const Quantizer quantizer = Quantizer::open(args.quantizer);
  const auto rows = open_vectors(args.vectors);
  Context context = context_of(args.run, {});
  context.cancel = cancel_on_interrupt();
  std::int64_t before = 0;
  {
    std::optional<ProgressBar> bar(std::in_place, "vectors");
    bool writing = false;
    const auto show = [&](const Progress& done) {
      if (!writing && done.total != rows->rows()) {  // an index, whose bytes are more than vectors
        bar.emplace("bytes");
        writing = true;
      }
      bar->show(done);
    };
    if (!args.quiet) context.progress = show;
    before = encode(args, quantizer, *rows, context);
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
  add_parsed(command, "--metric", args->index.metric, parse_metric,
             "Of an index: sqeuclidean, euclidean or inner_product")
      ->group(kSearch)
      ->type_name("CODE_METRIC")
      ->default_str(to_string(args->index.metric));
  command
      .add_flag("--byte-norms", args->index.byte_norms,
                "Of an index of rq or lsq: lengths of codes in a byte, not in 5")
      ->group(kSearch);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_output_file(command, args->output, "Write the codes, a row each, or an index of them");
  command.get_option("--output")->required();
  command.add_flag("--quiet", args->quiet, "No progress and no summary on standard error")
      ->group(kOutput);
  command.callback([args, &command] {
    check_index_options(command, args->output);
    run_encode(*args);
  });
}

}  // namespace nearfield::cli
