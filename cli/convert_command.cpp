#include "convert_command.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nearfield/nearfield.hpp>

#include "help.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "names.hpp"
#include "options.hpp"
#include "output_path.hpp"
#include "row_pieces.hpp"
#include "standard_output.hpp"
#include "truth_name.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

constexpr std::string_view kFormats =
    "Formats are known by the ending: .fbin .f16bin .u8bin .i8bin .ibin, .fvecs .bvecs .ivecs,\n"
    ".npy, FILE.hdf5:DATASET. Ground truth of big-ann is known by its size.\n";

struct ConvertArguments {
  std::string input;
  std::string output;
  std::string distances_to;
  std::string distances_from;
  std::optional<DType> type;
  bool round = false;
  std::int64_t first = 0;
  std::optional<std::int64_t> count;
  bool json = false;
  bool quiet = false;
};

struct Converted {
  std::int64_t rows;
  std::int64_t cols;
  std::string from;
  std::string to;
};

DType parse_file_type(const std::string& name) {
  for (const DType type : kFileTypes) {
    if (name == to_string(type)) {
      return type;
    }
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}' is not one of {}", name, fmt::join(file_type_names(), ", ")));
}

// Of endings the formats know more: which of them hold the values.
void check_files(const ConvertArguments& args) {
  if (!args.distances_from.empty()) {
    check_truth_name("OUTPUT", args.output);
  }
  const std::array outputs{OutputPath{"OUTPUT", {}, args.output},
                           OutputPath{"--distances-to", {}, args.distances_to}};
  if (args.json) std::ranges::for_each(outputs, check_json_alone);
  check_output_paths(outputs, std::array{args.input, args.distances_from});
}

// An option that could have no effect is an error, not ignored.
void check_options(const ConvertArguments& args, const FileInfo& input) {
  const auto refuse = [&](std::string_view option, std::string_view use) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: {} is for {}, and this holds {}",
                                                         args.input, option, use, input.type));
  };
  if (args.type && input.content != FileInfo::Content::vectors) {
    refuse("--type", "vectors");
  }
  if (!args.distances_to.empty() && input.content != FileInfo::Content::truth) {
    refuse("--distances-to", "ground truth");
  }
  if (!args.distances_from.empty() && input.content != FileInfo::Content::ids) {
    refuse("--distances-from", "ids");
  }
}

RowRange range_of(const ConvertArguments& args, std::int64_t rows) {
  const RowRange range{args.first,
                       args.count.value_or(std::max<std::int64_t>(rows - args.first, 0))};
  if (range.first > rows || range.count > rows - range.first) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: asked for {} rows from row {} on, it has {}", args.input,
                            range.count, range.first, rows));
  }
  return range;
}

template <class T>
std::span<const T> part_of(const std::vector<T>& values, RowRange range, std::int64_t cols) {
  return std::span(values).subspan(static_cast<std::size_t>(range.first * cols),
                                   static_cast<std::size_t>(range.count * cols));
}

[[noreturn]] void fail_misfit(const ConvertArguments& args, const Misfit& misfit,
                              std::int64_t first) {
  Matrix rounded(*args.type, 1, 1);
  const bool can_round =
      !convert_values(MatrixView(&misfit.value, 1, 1), Rounding::to_nearest, rounded);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {} in row {}, column {} {} {}{}", args.input, misfit.value,
                          first + misfit.row, misfit.col,
                          can_round ? "is not exactly a value of" : "is out of the range of",
                          to_string(*args.type), can_round ? "; --round takes the nearest" : ""));
}

// An ending of another type says what is wanted; what it costs, rounding or an error, must be said.
std::unique_ptr<RowWriter> create_output(const ConvertArguments& args, DType type,
                                         std::int64_t rows, std::int64_t cols) {
  try {
    return create_vectors(args.output, type, rows, cols);
  } catch (const Error& error) {
    if (args.type || error.code() != ErrorCode::invalid_argument) {
      throw;
    }
    throw Error(error.code(), fmt::format("{}; --type converts the values", error.what()));
  }
}

Converted convert_vectors(const ConvertArguments& args) {
  const auto source = open_vectors(args.input);
  const RowRange range = range_of(args, source->rows());
  const DType type = args.type.value_or(source->dtype());
  const auto writer = create_output(args, type, range.count, source->cols());
  Matrix converted;
  for_each_piece(*source, range, args.quiet, [&](const Matrix& piece, std::int64_t first) {
    if (type == source->dtype()) {
      writer->append(piece);
      return;
    }
    if (converted.rows() != piece.rows()) {
      converted = Matrix(type, piece.rows(), piece.cols());
    }
    const Rounding rounding = args.round ? Rounding::to_nearest : Rounding::none;
    if (const auto misfit = convert_values(piece, rounding, converted)) {
      fail_misfit(args, *misfit, first);
    }
    writer->append(converted);
  });
  writer->commit();
  return {range.count, source->cols(), std::string(to_string(source->dtype())),
          std::string(to_string(type))};
}

Converted convert_ids(const ConvertArguments& args, const FileInfo& input) {
  const IdTable table = read_id_table(args.input);
  const RowRange range = range_of(args, table.rows);
  stop_if_interrupted(args.input);
  write_id_table(args.output, part_of(table.ids, range, table.cols), range.count, table.cols);
  return {range.count, table.cols, input.type, "ids"};
}

// Two files appear or, if one cannot be written, none: the distances lie ready beside their place
// until the ids are in theirs. Not so in one HDF5 file, which each writer replaces as a whole.
void write_both(const ConvertArguments& args, std::span<const std::int64_t> ids,
                MatrixView distances) {
  if (same_file(file_of(args.output), file_of(args.distances_to))) {
    write_id_table(args.output, ids, distances.rows(), distances.cols());
    write_vectors(args.distances_to, distances);
    return;
  }
  const auto writer =
      create_vectors(args.distances_to, DType::f32, distances.rows(), distances.cols());
  writer->append(distances);
  write_id_table(args.output, ids, distances.rows(), distances.cols());
  writer->commit();
}

Converted split_truth(const ConvertArguments& args, const FileInfo& input) {
  const Truth truth = read_truth(args.input);
  const RowRange range = range_of(args, truth.rows);
  const auto ids = part_of(truth.ids, range, truth.k);
  const auto distances = part_of(truth.distances, range, truth.k);
  stop_if_interrupted(args.input);
  if (args.distances_to.empty()) {
    write_id_table(args.output, ids, range.count, truth.k);
    return {range.count, truth.k, input.type, "ids"};
  }
  write_both(args, ids, MatrixView(distances.data(), range.count, truth.k));
  return {range.count, truth.k, input.type, "ids, distances"};
}

std::vector<float> read_distances(const ConvertArguments& args, RowRange range, std::int64_t cols,
                                  std::int64_t rows) {
  const auto source = open_vectors(args.distances_from);
  if (source->dtype() != DType::f32 || source->rows() != rows || source->cols() != cols) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: holds {} x {} {}, and the ids of '{}' are {} x {}, for which "
                            "distances of f32 are needed",
                            args.distances_from, source->rows(), source->cols(),
                            to_string(source->dtype()), args.input, rows, cols));
  }
  std::vector<float> distances;
  distances.reserve(static_cast<std::size_t>(range.count * cols));
  for_each_piece(*source, range, args.quiet, [&](const Matrix& piece, std::int64_t) {
    const auto* const values = reinterpret_cast<const float*>(piece.row(0));
    distances.insert(distances.end(), values, values + piece.rows() * cols);
  });
  return distances;
}

Converted join_truth(const ConvertArguments& args, const FileInfo& input) {
  const IdTable table = read_id_table(args.input);
  const RowRange range = range_of(args, table.rows);
  const std::vector<float> distances = read_distances(args, range, table.cols, table.rows);
  stop_if_interrupted(args.input);
  write_truth(args.output, part_of(table.ids, range, table.cols), distances, range.count,
              table.cols, interrupt_token());
  return {range.count, table.cols, input.type, "truth"};
}

Converted convert(const ConvertArguments& args, const FileInfo& input) {
  switch (input.content) {
    case FileInfo::Content::vectors:
      return convert_vectors(args);
    case FileInfo::Content::ids:
      return args.distances_from.empty() ? convert_ids(args, input) : join_truth(args, input);
    case FileInfo::Content::truth:
      break;
  }
  return split_truth(args, input);
}

void run_convert(const ConvertArguments& args) {
  cancel_on_interrupt();  // before a file is made that a signal must not leave behind
  check_files(args);
  const auto start = std::chrono::steady_clock::now();
  const FileInfo input = describe_file(args.input);
  check_options(args, input);
  const Converted done = convert(args, input);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (!args.quiet) {
    fmt::print(stderr, "{} x {}, {} -> {}: {:.3f} s\n", done.rows, done.cols, done.from, done.to,
               time.count());
  }
  if (args.json) {
    print_result(JsonObject()
                     .add("nearfield", version())
                     .add("command", "convert")
                     .add("input", args.input)
                     .add("output", args.output)
                     .add("rows", done.rows)
                     .add("cols", done.cols)
                     .add("from", done.from)
                     .add("to", done.to)
                     .add("seconds", time.count())
                     .text());
  }
}

void add_options(CLI::App& app, ConvertArguments& args) {
  add_path(app, "INPUT", args.input, "File to read, in pieces if it holds vectors")->required();
  add_path(app, "OUTPUT", args.output, "File to write; what is there stays until all is done")
      ->required();
  CLI::Option* const type =
      add_parsed(app, "--type", args.type, parse_file_type,
                 fmt::format("Type of the values written, one of {}. Each must fit exactly",
                             fmt::join(file_type_names(), ", ")))
          ->type_name("TYPE");
  app.add_flag("--round", args.round,
               "With --type: take the nearest value, the even one of two; what is out of range is "
               "still an error")
      ->needs(type);
  add_parsed(app, "--first", args.first, count_within(0, kMaxRows), "First row to convert")
      ->type_name("N")
      ->default_str("0");
  add_parsed(app, "--count", args.count, count_within(0, kMaxRows),
             "How many rows to convert; by default all that follow")
      ->type_name("N");
  add_path(app, "--distances-to", args.distances_to,
           "INPUT is ground truth: its ids go to OUTPUT, its distances here");
  add_path(app, "--distances-from", args.distances_from,
           "INPUT holds ids: write OUTPUT as ground truth, with the distances (f32) of this file");
  app.add_flag("--json", args.json, "Print what was done as one JSON object");
  app.add_flag("--quiet", args.quiet, "No progress and no summary on standard error");
}

}  // namespace

void add_convert_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("convert",
                         "Write a file of vectors, ids or ground truth in another "
                         "format or type");
  const auto args = std::make_shared<ConvertArguments>();
  add_options(*command, *args);
  command->footer(fmt::format("{}\n{}", kFormats,
                              help_footer("half precision, each value rounded to the nearest",
                                          "nearfield convert b.fbin b.f16bin --type f16 --round")));
  command->callback([args] { run_convert(*args); });
}

}  // namespace nearfield::cli
