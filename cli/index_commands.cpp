// The commands of indexes: files of vectors under ids, which change.
#include "index_commands.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nearfield/index.hpp>
#include <nearfield/quantize.hpp>
#include <nearfield/tune_index.hpp>
#include <nearfield/version.hpp>

#include "counts.hpp"
#include "help.hpp"
#include "index_options.hpp"
#include "index_search_command.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "key_file.hpp"
#include "names.hpp"
#include "options.hpp"
#include "output_path.hpp"
#include "row_pieces.hpp"
#include "search_command.hpp"
#include "search_options.hpp"
#include "search_run.hpp"
#include "standard_output.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

struct IndexArguments {
  std::string index;
  std::string output;  // empty: the index itself
  std::string vectors;
  std::string ids;
  std::string keys;
  FileOptions file;
  std::string family = "flat";
  std::optional<double> recall;
  std::int64_t recall_k = 1;
  MetricSpec metric = Metric::sqeuclidean;
  bool replace = false;
  RunOptions run;
  bool json = false;
  bool quiet = false;
};

// ---- what a command has done ----

void report(const IndexArguments& args, std::string_view command, std::string_view what,
            std::int64_t count, const Index& index, std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (!args.quiet) {
    fmt::print(stderr, "{} {} {}; {} in the index: {:.3f} s\n", what, count,
               count == 1 ? "vector" : "vectors", index.size(), time.count());
  }
  if (args.json) {
    print_result(JsonObject()
                     .add("nearfield", version())
                     .add("command", command)
                     .add("index", args.output)
                     .add(what, count)
                     .add("size", index.size())
                     .add("seconds", time.count())
                     .text());
  }
}

// ---- changing ----

// Of vectors that are added: of each, or none.
class Names {
 public:
  Names(const IndexArguments& args, std::int64_t vectors) {
    if (!args.ids.empty()) {
      ids_ = read_id_table(args.ids).ids;
      check_count(args.ids, std::ssize(*ids_), "ids", vectors);
      check_each_once(args.ids, *ids_);
    }
    if (!args.keys.empty()) {
      keys_.emplace(args.keys);
      check_count(args.keys, std::ssize(keys_->keys()), "keys", vectors);
      keys_->check_each_once();
    }
  }

  std::optional<std::span<const std::int64_t>> ids(std::int64_t first, std::int64_t count) const {
    if (!ids_) return std::nullopt;
    return part_of(std::span<const std::int64_t>(*ids_), first, count);
  }
  std::optional<std::span<const std::string_view>> keys(std::int64_t first,
                                                        std::int64_t count) const {
    if (!keys_) return std::nullopt;
    return part_of(keys_->keys(), first, count);
  }

 private:
  template <class T>
  static std::span<const T> part_of(std::span<const T> all, std::int64_t first,
                                    std::int64_t count) {
    return all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }

  static void check_count(const std::string& path, std::int64_t count, std::string_view what,
                          std::int64_t vectors) {
    if (count != vectors) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: holds {} {} for {} vectors", path, count, what, vectors));
    }
  }

  // Between pieces of a file nobody else would notice.
  static void check_each_once(const std::string& path, std::vector<std::int64_t> ids) {
    std::ranges::sort(ids);
    if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: holds the id {} twice", path, *twice));
    }
  }

  std::optional<std::vector<std::int64_t>> ids_;
  std::optional<KeyFile> keys_;
};

// Piece by piece: a file need not fit into memory beside the index.
void add_vectors(const IndexArguments& args, const RowSource& vectors, Index& index,
                 const Context& context) {
  const Names names(args, vectors.rows());
  for_each_piece(vectors, {0, vectors.rows()}, args.quiet,
                 [&](const Matrix& piece, std::int64_t first) {
                   const auto ids = names.ids(first, piece.rows());
                   const auto keys = names.keys(first, piece.rows());
                   if (keys && args.replace) {
                     index.upsert(piece, *keys, context);
                   } else if (keys) {
                     index.add(piece, *keys, ids, context);
                   } else if (ids && args.replace) {
                     index.upsert(piece, *ids, context);
                   } else if (ids) {
                     index.add(piece, *ids, context);
                   } else {
                     index.add(piece, context);
                   }
                 });
}

Context interruptible(const RunOptions& run) {
  Context context = context_of(run, {});
  context.cancel = cancel_on_interrupt();
  return context;
}

// With parameters that reach the recall.
std::string tuned_family(const IndexArguments& args, const IndexSpec& spec,
                         const RowSource& vectors, const Context& context) {
  const Matrix none(vectors.dtype(), 0, vectors.cols());
  const TunedIndex tuned = tune_index(spec, vectors, MatrixRows(none),
                                      {.recall = *args.recall, .k = args.recall_k}, context);
  if (!args.quiet) {
    fmt::print(stderr, "{}: recall@{} of about {:.3f}\n", tuned.family, args.recall_k,
               tuned.recall);
  }
  return tuned.family;
}

void run_build(const IndexArguments& args) {
  const auto start = std::chrono::steady_clock::now();
  const Context context = interruptible(args.run);
  const auto vectors = open_vectors(args.vectors, args.file);
  IndexSpec spec{.family = args.family,
                 .dtype = vectors->dtype(),
                 .cols = vectors->cols(),
                 .metric = args.metric,
                 .keys = !args.keys.empty()};
  if (args.recall) spec.family = tuned_family(args, spec, *vectors, context);
  Index index(spec);
  add_vectors(args, *vectors, index, context);
  index.save(args.output, context);
  report(args, "build", "added", vectors->rows(), index, start);
}

void run_add(const IndexArguments& args) {
  const auto start = std::chrono::steady_clock::now();
  const Context context = interruptible(args.run);
  Index index = Index::open(args.index);
  FileOptions file;
  if (index.spec().dtype == DType::bits) file.bits = index.spec().cols;
  const auto vectors = open_vectors(args.vectors, file);
  add_vectors(args, *vectors, index, context);
  index.save(args.output, context);
  report(args, "add", "added", vectors->rows(), index, start);
}

void run_remove(const IndexArguments& args) {
  const auto start = std::chrono::steady_clock::now();
  const Context context = interruptible(args.run);
  Index index = Index::open(args.index);
  const std::int64_t removed = args.keys.empty() ? index.remove(read_id_table(args.ids).ids)
                                                 : index.remove(KeyFile(args.keys).keys());
  index.save(args.output, context);
  report(args, "remove", "removed", removed, index, start);
}

// A file never has what was removed: writing it again is all there is to do.
void run_compact(const IndexArguments& args) {
  const auto start = std::chrono::steady_clock::now();
  const Context context = interruptible(args.run);
  const Index index = Index::open(args.index);
  index.save(args.output, context);
  report(args, "compact", "kept", index.size(), index, start);
}

// ---- checking ----

struct VerifyArguments {
  std::vector<std::string> files;
  RunOptions run;
  bool quiet = false;
};

void run_verify(const VerifyArguments& args) {
  const Context limits = context_of(args.run, {});
  for (const std::string& path : args.files) {
    run_watched(limits, args.quiet, [&](const Context& context) {
      if (is_quantizer_file(path)) {
        verify_quantizer(path, context);
      } else {
        verify_index(path, {}, context);
      }
      return 0;
    });
    print_result(fmt::format("{}: as it was written\n", path));
  }
}

// ---- options ----

std::string family_help() {
  std::string help = "How it searches";
#define NEARFIELD_INDEX(name, text) help += "; " #name ": " text;
#include <nearfield/indexes.def>
#undef NEARFIELD_INDEX
  return help;
}

void add_vector_options(CLI::App& app, IndexArguments& args) {
  add_path(app, "--vectors", args.vectors, "Vector file, read in pieces")
      ->group(kInput)
      ->required();
  add_path(app, "--ids", args.ids,
           "Ids of the vectors, one each: .ibin, .ivecs, .npy; by default the next numbers that "
           "were never used")
      ->group(kInput);
  add_path(app, "--keys", args.keys,
           "Keys of the vectors beside their ids, a line of text each: any bytes, no two the same")
      ->group(kInput);
}

void add_report_flags(CLI::App& app, IndexArguments& args) {
  add_host_options(app, args.run);
  app.add_flag("--json", args.json, "Print what was done as one JSON object")->group(kOutput);
  app.add_flag("--quiet", args.quiet, "No progress and no summary on standard error")
      ->group(kOutput);
}

// Of a command that changes an index: by default it replaces its own file.
void add_changed_output(CLI::App& app, IndexArguments& args) {
  add_path(app, "--output", args.output, "Write the changed index here, and leave that as it is")
      ->group(kOutput);
  add_report_flags(app, args);
}

// Adds a command that runs with its arguments; an output that is not given is the index.
void run_with(CLI::App& command, const std::shared_ptr<IndexArguments>& args,
              void (*run)(const IndexArguments&)) {
  command.callback([args, run] {
    const std::array output{OutputPath{"--output", {}, args->output}};
    if (args->json) check_json_alone(output.front());
    check_output_paths(output, std::array{args->vectors, args->ids, args->keys});
    if (args->output.empty()) args->output = args->index;
    run(*args);
  });
}

void add_build(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("build", "Make an index of the vectors of a file");
  const auto args = std::make_shared<IndexArguments>();
  add_vector_options(command, *args);
  add_parsed(command, "--bits", args->file.bits, count_within(1, kMaxCols),
             "The bytes of the vectors are packed bits, N a row")
      ->group(kInput)
      ->type_name("N");
  command.add_option("--family", args->family, family_help())
      ->capture_default_str()
      ->type_name("FAMILY");
  add_parsed(command, "--metric", args->metric, parse_metric,
             fmt::format("One of {}", fmt::join(metric_names(), ", ")))
      ->type_name("METRIC")
      ->default_str(to_string(args->metric));
  CLI::Option* const recall =
      add_parsed(command, "--recall", args->recall, parse_number,
                 "Choose parameters of an approximate family, lsh, that find this part of the "
                 "nearest, by a sample of the vectors")
          ->type_name("SHARE");
  add_parsed(command, "--recall-k", args->recall_k, count_within(1, kMaxRows),
             "Of so many nearest of each query")
      ->type_name("K")
      ->default_str("1")
      ->needs(recall);
  add_path(command, "--output", args->output, "Index file to write")->group(kOutput)->required();
  add_report_flags(command, *args);
  command.footer(
      help_footer("an index of a file", "nearfield build --vectors b.fbin --output b.nf"));
  run_with(command, args, run_build);
}

void check_replace(const IndexArguments& args) {
  if (args.replace && args.ids.empty() == args.keys.empty()) {
    throw CLI::ValidationError("--replace", "needs --ids or --keys, and not both of them");
  }
}

void add_add(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("add", "Add the vectors of a file to an index");
  const auto args = std::make_shared<IndexArguments>();
  add_index(command, args->index);
  add_vector_options(command, *args);
  command.add_flag("--replace", args->replace,
                   "With --ids or --keys: replace the vectors that are there under these");
  add_changed_output(command, *args);
  command.footer(help_footer("more vectors", "nearfield add --index b.nf --vectors q.fbin"));
  run_with(command, args, [](const IndexArguments& given) {
    check_replace(given);
    run_add(given);
  });
}

void add_remove(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("remove", "Remove vectors from an index, by their ids or keys");
  const auto args = std::make_shared<IndexArguments>();
  add_index(command, args->index);
  CLI::Option* const ids =
      add_path(command, "--ids", args->ids, "Ids to remove: .ibin, .ivecs, .npy")->group(kInput);
  add_path(command, "--keys", args->keys, "Keys to remove, a line of text each")
      ->group(kInput)
      ->excludes(ids);
  add_changed_output(command, *args);
  command.footer(
      help_footer("all that a file names", "nearfield remove --index b.nf --ids ids.ibin"));
  run_with(command, args, [](const IndexArguments& given) {
    if (given.ids.empty() && given.keys.empty()) throw CLI::RequiredError("--ids or --keys");
    run_remove(given);
  });
}

void add_compact(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("compact", "Write an index again, as small as it can be");
  const auto args = std::make_shared<IndexArguments>();
  add_index(command, args->index);
  add_changed_output(command, *args);
  command.footer(help_footer("an index in its place", "nearfield compact --index b.nf"));
  run_with(command, args, run_compact);
}

void add_verify(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("verify",
                          "Read all of an index file, of vectors or of objects, or of a quantizer, "
                          "and compare its sums");
  const auto args = std::make_shared<VerifyArguments>();
  command.add_option("FILE", args->files, "Files of indexes or quantizers")
      ->required()
      ->type_name("FILE");
  add_host_options(command, args->run);
  command.add_flag("--quiet", args->quiet, "No progress on standard error");
  command.footer(help_footer("one file", "nearfield verify b.nf"));
  command.callback([args] { run_verify(*args); });
}

}  // namespace

void add_index_commands(CLI::App& app) {
  add_build(app);
  add_add(app);
  add_remove(app);
  add_index_search(app);
  add_verify(app);
  add_compact(app);
}

}  // namespace nearfield::cli
