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
#include <nearfield/version.hpp>

#include "help.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "names.hpp"
#include "options.hpp"
#include "output_path.hpp"
#include "report.hpp"
#include "result_files.hpp"
#include "row_pieces.hpp"
#include "search_command.hpp"
#include "standard_output.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

struct IndexArguments {
  std::string index;
  std::string output;  // empty: the index itself
  std::string vectors;
  std::string ids;
  FileOptions file;
  std::string family = "flat";
  MetricSpec metric = Metric::sqeuclidean;
  bool replace = false;
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

std::vector<std::int64_t> read_ids_of(const std::string& path, std::int64_t expected) {
  const IdTable table = read_id_table(path);
  if (expected >= 0 && std::ssize(table.ids) != expected) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: holds {} ids for {} vectors", path, table.ids.size(), expected));
  }
  return table.ids;
}

// Between pieces of a file nobody else would notice.
void check_each_once(const std::string& path, std::vector<std::int64_t> ids) {
  std::ranges::sort(ids);
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: holds the id {} twice", path, *twice));
  }
}

// Piece by piece: a file need not fit into memory beside the index.
void add_vectors(const IndexArguments& args, const RowSource& vectors, Index& index,
                 const Context& context) {
  std::vector<std::int64_t> ids;
  if (!args.ids.empty()) {
    ids = read_ids_of(args.ids, vectors.rows());
    check_each_once(args.ids, ids);
  }
  for_each_piece(vectors, {0, vectors.rows()}, args.quiet,
                 [&](const Matrix& piece, std::int64_t first) {
                   if (ids.empty()) {
                     index.add(piece, context);
                     return;
                   }
                   const auto part = std::span<const std::int64_t>(ids).subspan(
                       static_cast<std::size_t>(first), static_cast<std::size_t>(piece.rows()));
                   if (args.replace) {
                     index.upsert(piece, part, context);
                   } else {
                     index.add(piece, part, context);
                   }
                 });
}

Context interruptible() {
  Context context;
  context.cancel = cancel_on_interrupt();
  return context;
}

void run_build(const IndexArguments& args) {
  const auto start = std::chrono::steady_clock::now();
  const Context context = interruptible();
  const auto vectors = open_vectors(args.vectors, args.file);
  Index index({args.family, vectors->dtype(), vectors->cols(), args.metric});
  add_vectors(args, *vectors, index, context);
  index.save(args.output, context);
  report(args, "build", "added", vectors->rows(), index, start);
}

void run_add(const IndexArguments& args) {
  const auto start = std::chrono::steady_clock::now();
  const Context context = interruptible();
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
  const Context context = interruptible();
  Index index = Index::open(args.index);
  const std::int64_t removed = index.remove(read_ids_of(args.ids, -1));
  index.save(args.output, context);
  report(args, "remove", "removed", removed, index, start);
}

// A file never has what was removed: writing it again is all there is to do.
void run_compact(const IndexArguments& args) {
  const auto start = std::chrono::steady_clock::now();
  const Context context = interruptible();
  const Index index = Index::open(args.index);
  index.save(args.output, context);
  report(args, "compact", "kept", index.size(), index, start);
}

// ---- searching ----

struct IndexSearchArguments {
  std::string index;
  std::string queries;
  std::string only;
  std::string without;
  std::int64_t k = 10;
  std::optional<double> radius;
  RunOptions run;
  OutputOptions output;
};

std::vector<std::int64_t> filter_ids(const IndexSearchArguments& args) {
  const std::string& path = args.only.empty() ? args.without : args.only;
  return path.empty() ? std::vector<std::int64_t>() : read_ids_of(path, -1);
}

IdFilter filter_of(const IndexSearchArguments& args, std::span<const std::int64_t> ids) {
  if (!args.only.empty()) return {IdFilter::Kind::only, ids};
  if (!args.without.empty()) return {IdFilter::Kind::without, ids};
  return {};
}

Matrix read_queries(const IndexSearchArguments& args, const IndexSpec& spec) {
  FileOptions file;
  if (spec.dtype == DType::bits) file.bits = spec.cols;
  const auto source = open_vectors(args.queries, file);
  Matrix queries(source->dtype(), source->rows(), source->cols());
  source->read(0, source->rows(), queries, 0);
  return queries;
}

void run_search(const IndexSearchArguments& args) {
  if (args.radius) check_offsets(args.output);
  check_outputs(args.output, {args.queries, args.index, args.only + args.without, {}}, Mode::run);
  const Index index = Index::open(args.index);
  const Matrix queries = read_queries(args, index.spec());
  const std::vector<std::int64_t> ids = filter_ids(args);
  Task task{"search", index.spec().metric, queries.rows(), index.size(), index.spec().cols};
  const Context context = context_of(args.run, {});
  if (args.radius) {
    task.radius = args.radius;
    const Ranges found = run_watched(context, args.output.quiet, [&](const Context& watched) {
      return index.within(queries, {*args.radius, filter_of(args, ids)}, watched);
    });
    write_results(args.output, found);
    print_outcome(task, outcome_of(found), args.output);
    return;
  }
  task.k = args.k;
  check_distances_fit(args.output.distances, args.k);
  const Neighbors found = run_watched(context, args.output.quiet, [&](const Context& watched) {
    return index.search(queries, {args.k, filter_of(args, ids)}, watched);
  });
  write_results(args.output, found);
  print_outcome(task, outcome_of(found), args.output);
}

// ---- checking ----

struct VerifyArguments {
  std::vector<std::string> files;
  bool quiet = false;
};

void run_verify(const VerifyArguments& args) {
  for (const std::string& path : args.files) {
    run_watched({}, args.quiet, [&](const Context& context) {
      verify_index(path, {}, context);
      return 0;
    });
    print_result(fmt::format("{}: as it was written\n", path));
  }
}

// ---- options ----

constexpr auto kInput = "Input";
constexpr auto kOutput = "Output";

void add_index(CLI::App& app, std::string& index) {
  add_path(app, "--index", index, "Index file, as `nearfield build` makes it")
      ->group(kInput)
      ->required();
}

void add_vector_options(CLI::App& app, IndexArguments& args) {
  add_path(app, "--vectors", args.vectors, "Vector file, read in pieces")
      ->group(kInput)
      ->required();
  add_path(app, "--ids", args.ids,
           "Ids of the vectors, one each: .ibin, .ivecs, .npy; by default the next numbers that "
           "were never used")
      ->group(kInput);
}

void add_report_flags(CLI::App& app, IndexArguments& args) {
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
    check_output_paths(output, std::array{args->vectors, args->ids});
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
  command.add_option("--family", args->family, "How it searches: flat looks at every vector")
      ->capture_default_str()
      ->type_name("FAMILY");
  add_parsed(command, "--metric", args->metric, parse_metric,
             fmt::format("One of {}", fmt::join(metric_names(), ", ")))
      ->type_name("METRIC")
      ->default_str(to_string(args->metric));
  add_path(command, "--output", args->output, "Index file to write")->group(kOutput)->required();
  add_report_flags(command, *args);
  command.footer(
      help_footer("an index of a file", "nearfield build --vectors b.fbin --output b.nf"));
  run_with(command, args, run_build);
}

void add_add(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("add", "Add the vectors of a file to an index");
  const auto args = std::make_shared<IndexArguments>();
  add_index(command, args->index);
  add_vector_options(command, *args);
  command
      .add_flag("--replace", args->replace,
                "With --ids: replace the vectors that are there under these ids")
      ->needs(command.get_option("--ids"));
  add_changed_output(command, *args);
  command.footer(help_footer("more vectors", "nearfield add --index b.nf --vectors q.fbin"));
  run_with(command, args, run_add);
}

void add_remove(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("remove", "Remove vectors from an index, by their ids");
  const auto args = std::make_shared<IndexArguments>();
  add_index(command, args->index);
  add_path(command, "--ids", args->ids, "Ids to remove: .ibin, .ivecs, .npy")
      ->group(kInput)
      ->required();
  add_changed_output(command, *args);
  command.footer(
      help_footer("all that a file names", "nearfield remove --index b.nf --ids ids.ibin"));
  run_with(command, args, run_remove);
}

void add_compact(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("compact", "Write an index again, as small as it can be");
  const auto args = std::make_shared<IndexArguments>();
  add_index(command, args->index);
  add_changed_output(command, *args);
  command.footer(help_footer("an index in its place", "nearfield compact --index b.nf"));
  run_with(command, args, run_compact);
}

void add_search(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("search", "The nearest vectors of an index, for each query");
  const auto args = std::make_shared<IndexSearchArguments>();
  add_index(command, args->index);
  add_path(command, "--queries", args->queries, "Vector file of the queries")
      ->group(kInput)
      ->required();
  CLI::Option* const only =
      add_path(command, "--only", args->only, "Find only the ids in this file: .ibin, .ivecs, .npy")
          ->group(kInput);
  add_path(command, "--without", args->without, "Do not find the ids in this file")
      ->group(kInput)
      ->excludes(only);
  add_k(command, args->k);
  add_radius(command, args->radius)->excludes(command.get_option("-k"));
  add_run_options(command, args->run);
  add_result_files(command, args->output, "nearest first, -1 where there is none");
  add_output_file(command, args->output.offsets,
                  "With --radius: where the ids of each query begin");
  command.get_option("--offsets")->needs(command.get_option("--radius"));
  add_report_options(command, args->output);
  command.footer(
      help_footer("the 10 nearest of each query",
                  "nearfield search --index b.nf --queries q.fbin -k 10 --output found.ibin"));
  command.callback([args] { run_search(*args); });
}

void add_verify(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("verify", "Read all of an index file and compare its sums");
  const auto args = std::make_shared<VerifyArguments>();
  command.add_option("FILE", args->files, "Index files")->required()->type_name("FILE");
  command.add_flag("--quiet", args->quiet, "No progress on standard error");
  command.footer(help_footer("one file", "nearfield verify b.nf"));
  command.callback([args] { run_verify(*args); });
}

}  // namespace

void add_index_commands(CLI::App& app) {
  add_build(app);
  add_add(app);
  add_remove(app);
  add_search(app);
  add_verify(app);
  add_compact(app);
}

}  // namespace nearfield::cli
