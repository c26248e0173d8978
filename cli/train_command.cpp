// `nearfield train`: a quantizer of vectors, with the error after each iteration.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nearfield/error.hpp>
#include <nearfield/quantize.hpp>

#include "names.hpp"
#include "options.hpp"
#include "search_run.hpp"
#include "value_commands.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

struct TrainArguments {
  std::string vectors;
  std::optional<std::int64_t> rows;
  QuantizerOptions quantizer;
  OutputPath checkpoint{"--checkpoint", {}, {}};
  RunOptions run;
  OutputPath output{"--output", {".safetensors"}, {}};
  bool quiet = false;
};

// Evenly taken; what is read is taken off the memory limit.
Matrix some_rows(const RowSource& source, std::int64_t count, Context& context) {
  take_off_limit(context, count, row_bytes(source.dtype(), source.cols()), "vectors to train on",
                 "give fewer --rows");
  Matrix rows(source.dtype(), count, source.cols());
  if (count == source.rows()) {
    source.read(0, count, rows, 0);  // one by one each would be a call of the system
    return rows;
  }
  for (std::int64_t i = 0; i < count; ++i) source.read(i * source.rows() / count, 1, rows, i);
  return rows;
}

// all: the rows of the file.
Quantizer train(const TrainArguments& args, MatrixView rows, std::int64_t all, Context context) {
  context.cancel = cancel_on_interrupt();
  TrainOptions training{.checkpoint = args.checkpoint.path, .iteration = {}};
  std::optional<ProgressBar> bar;
  if (!args.quiet) {
    bar.emplace("vectors");
    context.progress = [&bar](const Progress& done) { bar->show(done); };
  }
  // Of pq and rq no iteration has an error of all codebooks.
  const QuantizerKind kind = args.quantizer.kind;
  if (!args.quiet && (kind == QuantizerKind::opq || kind == QuantizerKind::lsq)) {
    training.iteration = [&](int iteration, double error) {
      bar.emplace("vectors");  // wipes the line
      fmt::print(stderr, "iteration {} of {}: mean squared error {:.6g}\n", iteration,
                 args.quantizer.iterations, error);
    };
  }
  try {
    return Quantizer::train(rows, args.quantizer, context, training);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_finite || rows.rows() == all) throw;
    throw Error(error.code(), fmt::format("of the {} rows taken evenly of {} (row i of them is row "
                                          "i * {} / {} of the file), {}",
                                          rows.rows(), all, all, rows.rows(), error.what()));
  }
}

void remove_checkpoint(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (!error) return;
  throw Error(ErrorCode::io, fmt::format("{}: the quantizer is written, and this checkpoint cannot "
                                         "be removed: {}",
                                         path, error.message()));
}

void run_train(const TrainArguments& args) {
  check_output_paths(std::array{args.output, args.checkpoint}, std::array{args.vectors});
  const auto start = std::chrono::steady_clock::now();
  Context context = context_of(args.run, {});
  const auto source = open_vectors(args.vectors);
  if (args.rows && *args.rows > source->rows()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: has {} vectors, not the {} of --rows",
                                                         args.vectors, source->rows(), *args.rows));
  }
  const Matrix rows = some_rows(*source, args.rows.value_or(source->rows()), context);
  const Quantizer quantizer = train(args, rows, source->rows(), context);
  quantizer.save(args.output.path, cancel_on_interrupt());
  // Only now: until the quantizer is there, it is all that is left of the work.
  if (args.checkpoint.given()) remove_checkpoint(args.checkpoint.path);
  if (args.quiet) return;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  fmt::print(stderr,
             "{} of {} codebooks, {} bytes a vector, of {} vectors of {} columns: "
             "mean squared error {:.6g} in {:.1f} s\n",
             to_string(args.quantizer.kind), args.quantizer.codebooks, quantizer.code_bytes(),
             rows.rows(), rows.cols(), quantizer.errors().back(), time.count());
}

void add_number(CLI::App& command, const std::string& name, int& target, const std::string& help,
                int least = 0, int most = std::numeric_limits<int>::max()) {
  const auto number = [least, most](const std::string& text) {
    return static_cast<int>(parse_count(text, least, most));
  };
  add_parsed(command, name, target, number, help)
      ->group(kSearch)
      ->type_name("N")
      ->default_str(fmt::format("{}", target));
}

int parse_code_bits(const std::string& text) {
  if (text == "4" || text == "8") return text.front() - '0';
  throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is not 4 or 8", text));
}

void add_quantizer_options(CLI::App& command, QuantizerOptions& options) {
  add_parsed(command, "--kind", options.kind, parse_quantizer_kind,
             fmt::format("One of {}", fmt::join(quantizer_kind_names(), ", ")))
      ->group(kSearch)
      ->type_name("KIND")
      ->default_str(std::string(to_string(options.kind)));
  add_number(command, "--codebooks", options.codebooks, "Of a code, 1 to 64", 1, 64);
  add_parsed(command, "--code-bits", options.bits, parse_code_bits, "Of each codebook: 8, or 4")
      ->group(kSearch)
      ->type_name("N")
      ->default_str(fmt::format("{}", options.bits));
  add_number(command, "--iterations", options.iterations, "Of training");
  add_number(command, "--rounds", options.rounds, "lsq: of local search for a vector");
  add_number(command, "--train-rounds", options.train_rounds, "lsq: the same while training");
  add_number(command, "--perturbed", options.perturbed, "lsq: codes that a round draws anew");
  add_number(command, "--sweeps", options.sweeps, "lsq: over all codebooks in a round");
  command.add_flag("--random-order", options.random_order, "lsq: of codebooks in a sweep")
      ->group(kSearch);
  add_parsed(command, "--relaxation", options.relaxation, parse_relaxation,
             "lsq: noise that fades, on codebooks or rows, or none")
      ->group(kSearch)
      ->type_name("RELAXATION")
      ->default_str(std::string(to_string(options.relaxation)));
  add_number(command, "--beam", options.beam, "rq: sums that are kept");
}

// What one kind alone reads would be ignored by the others.
void check_kind_options(const CLI::App& command, QuantizerKind kind) {
  const auto refuse_unless = [&](QuantizerKind owner, std::initializer_list<const char*> names) {
    for (const char* const name : names) {
      if (kind == owner || command.count(name) == 0) continue;
      throw CLI::ValidationError(
          name, fmt::format("belongs to {}, and --kind is {}", to_string(owner), to_string(kind)));
    }
  };
  refuse_unless(QuantizerKind::lsq, {"--rounds", "--train-rounds", "--perturbed", "--sweeps",
                                     "--random-order", "--relaxation"});
  refuse_unless(QuantizerKind::rq, {"--beam"});
}

}  // namespace

void add_train_command(CLI::App& app) {
  CLI::App& command = add_search_command(
      app, Mode::run,
      {"train", "A quantizer of vectors, which makes codes of them",
       "8 bytes a vector by local search, gone on with after it was stopped",
       "--vectors learn.fbin --codebooks 8 --checkpoint q.part --output q.safetensors"});
  const auto args = std::make_shared<TrainArguments>();
  add_path(command, "--vectors", args->vectors, "Vectors to train on")
      ->required()
      ->group(kInput)
      ->type_name("FILE");
  add_parsed(command, "--rows", args->rows,
             count_within(1, std::numeric_limits<std::int64_t>::max()),
             "Train on so many of them, evenly taken")
      ->group(kInput)
      ->type_name("N");
  add_quantizer_options(command, args->quantizer);
  add_seed(command, args->run);
  add_path(
      command, "--checkpoint", args->checkpoint.path,
      "lsq: keep what is done after each iteration here, and go on from it; removed at the end")
      ->group(kInput)
      ->type_name("FILE");
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_output_file(command, args->output, "Write the quantizer");
  command.get_option("--output")->required();
  command.add_flag("--quiet", args->quiet, "No progress and no summary on standard error")
      ->group(kOutput);
  command.callback([args, &command] {
    check_kind_options(command, args->quantizer.kind);
    run_train(*args);
  });
}

}  // namespace nearfield::cli
