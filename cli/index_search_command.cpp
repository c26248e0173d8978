#include "index_search_command.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nearfield/index.hpp>

#include "help.hpp"
#include "index_options.hpp"
#include "key_file.hpp"
#include "report.hpp"
#include "result_files.hpp"
#include "search_command.hpp"
#include "search_options.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

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

// By keys if the file is text. Those that are not there are of no use, as ids.
std::vector<std::int64_t> filter_ids(const IndexSearchArguments& args, const Index& index) {
  const std::string& path = args.only.empty() ? args.without : args.only;
  if (path.empty()) return {};
  if (path.ends_with(".txt") && !is_hdf5(path)) return index.ids_of(KeyFile(path).keys());
  return read_id_table(path).ids;
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
  const std::vector<std::int64_t> ids = filter_ids(args, index);
  Task task{"search", index.spec().metric, queries.rows(), index.size(), index.spec().cols};
  const Context context = context_of(args.run, {});
  KeysOf keys;
  if (index.spec().keys) {
    keys = [&](std::span<const std::int64_t> found) { return index.keys_of(found); };
  }
  if (args.radius) {
    task.radius = args.radius;
    const Ranges found = run_watched(context, args.output.quiet, [&](const Context& watched) {
      return index.within(queries, {*args.radius, filter_of(args, ids)}, watched);
    });
    write_results(args.output, found, keys);
    print_outcome(task, outcome_of(found), args.output);
    return;
  }
  task.k = args.k;
  check_distances_fit(args.output.distances, args.k);
  const Neighbors found = run_watched(context, args.output.quiet, [&](const Context& watched) {
    return index.search(queries, {args.k, filter_of(args, ids)}, watched);
  });
  write_results(args.output, found, keys);
  print_outcome(task, outcome_of(found), args.output);
}

}  // namespace

void add_index_search(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("search", "The nearest vectors of an index, for each query");
  const auto args = std::make_shared<IndexSearchArguments>();
  add_index(command, args->index);
  add_path(command, "--queries", args->queries, "Vector file of the queries")
      ->group(kInput)
      ->required();
  CLI::Option* const only =
      add_path(command, "--only", args->only,
               "Find only what is in this file: ids, .ibin, .ivecs or .npy, or keys, .txt")
          ->group(kInput);
  add_path(command, "--without", args->without, "Do not find what is in this file")
      ->group(kInput)
      ->excludes(only);
  add_k(command, args->k);
  add_radius(command, args->radius)->excludes(command.get_option("-k"));
  add_run_options(command, args->run);
  add_device_options(command, args->run);
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

}  // namespace nearfield::cli
