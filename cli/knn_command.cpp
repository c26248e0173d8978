#include "knn_command.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nearfield/nearfield.hpp>

#include "bytes.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "knn_report.hpp"
#include "options.hpp"
#include "output_path.hpp"
#include "progress_bar.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

constexpr std::string_view kExample =
    "Example, the 10 nearest base rows of each query:\n"
    "  nearfield knn --queries q.fbin --base b.fbin -k 10 --metric sqeuclidean \\\n"
    "                --output ids.ibin --distances d.fbin\n";

struct KnnArguments {
  std::string queries;
  std::string base;
  std::string filter;
  std::string output;
  std::string distances;
  FileOptions file;
  KnnOptions options;
  Context context;
  std::optional<double> timeout;
  bool plan = false;
  bool json = false;
  bool quiet = false;
};

std::string metric_names() {
  std::vector<std::string_view> names;
  for (const MetricInfo& metric : metrics()) {
    names.push_back(metric.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string isa_names() {
  std::vector<std::string_view> names;
  for (const Isa isa : available_isas()) {
    names.push_back(to_string(isa));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_input_options(CLI::App& app, KnnArguments& args) {
  add_path(app, "--queries", args.queries, "Vector file: .fbin and its kin, .fvecs, .bvecs, .npy")
      ->required();
  add_path(app, "--base", args.base, "Vector file to search, read in pieces")->required();
  add_parsed(app, "--bits", args.file.bits, count_within(1, kMaxCols),
             "The bytes of both files are packed bits, N a row")
      ->type_name("N");
  add_path(app, "--filter", args.filter, "Search only the base rows whose ids are in this .ibin");
}

void add_search_options(CLI::App& app, KnnArguments& args) {
  // The header of a result file holds 32 bits.
  add_parsed(app, "-k", args.options.k, count_within(1, std::numeric_limits<std::uint32_t>::max()),
             "Neighbours of each query")
      ->type_name("N")
      ->default_str(std::to_string(args.options.k));
  add_parsed(app, "--metric", args.options.metric, parse_metric, "One of " + metric_names())
      ->type_name("NAME")
      ->default_str(std::string(to_string(args.options.metric)));
  app.add_flag("--exclude-self", args.options.exclude_self,
               "Query i is base row i and not its own neighbour");
  app.add_flag("--check-finite", args.options.check_finite,
               "Fail if a row holds a NaN or an infinity, instead of never returning it");
}

void add_run_options(CLI::App& app, KnnArguments& args) {
  const auto parse_threads = [](const std::string& text) {
    return static_cast<int>(parse_count(text, 0, std::numeric_limits<int>::max()));
  };
  add_parsed(app, "--threads", args.context.threads, parse_threads, "0: every core it may use")
      ->type_name("N")
      ->default_str("0");
  add_parsed(app, "--isa", args.context.isa, parse_isa,
             "Instruction set, here one of " + isa_names() + "; the results are the same")
      ->type_name("NAME");
  add_parsed(app, "--memory-limit", args.context.memory_limit, parse_bytes,
             "Most memory to use, the result included: 512M, 3G (powers of 1024)")
      ->type_name("BYTES");
  add_parsed(app, "--timeout", args.timeout, parse_seconds, "Give up after so many seconds")
      ->type_name("SECONDS");
}

void add_output_options(CLI::App& app, KnnArguments& args) {
  add_path(app, "--output", args.output, "Write the ids, nearest first; -1 where there is none")
      ->type_name("FILE.ibin");
  add_path(app, "--distances", args.distances, "Write the distances or similarities")
      ->type_name("FILE.fbin");
  app.add_flag("--plan", args.plan,
               "Print what would run and how much memory it takes; run nothing");
  app.add_flag("--json", args.json, "Print plan and statistics as one JSON object");
  app.add_flag("--quiet", args.quiet, "No progress and no summary on standard error");
}

void check_outputs(const KnnArguments& args) {
  if (args.output.empty() && args.distances.empty() && !args.json && !args.plan) {
    throw CLI::RequiredError("at least one of --output, --distances, --json and --plan");
  }
  const std::vector<std::string> inputs{args.queries, args.base, args.filter};
  if (!args.output.empty()) {
    check_output("--output", args.output, ".ibin", inputs);
  }
  if (!args.distances.empty()) {
    check_output("--distances", args.distances, ".fbin", inputs);
  }
}

// What the files could not hold is refused before it is computed.
void check_fits(const KnnArguments& args, const KnnTask& task) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 31;  // ids are int32
  if (!args.output.empty() && task.rows > kMostRows) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: an .ibin holds ids of at most {} rows, '{}' has {}", args.output,
                            kMostRows, args.base, task.rows));
  }
  if (!args.distances.empty() && task.k > kMaxCols) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: a .fbin holds at most {} columns, k is {}",
                                                    args.distances, kMaxCols, task.k));
  }
}

void print_line(std::string_view text) {
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  if (std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "cannot write to standard output");
  }
}

void write_results(const KnnArguments& args, const Neighbors& found) {
  if (!args.output.empty()) {
    write_id_table(args.output, found.ids, found.queries, found.k);
  }
  if (!args.distances.empty()) {
    write_vectors(args.distances, MatrixView(found.distances.data(), found.queries, found.k));
  }
}

Neighbors search(const KnnArguments& args, const RowSource& queries, const RowSource& base) {
  Context context = args.context;
  context.cancel = cancel_on_interrupt();
  ProgressBar bar;
  if (!args.quiet) {
    context.progress = [&bar](const Progress& progress) { bar.show(progress); };
  }
  return knn(queries, base, args.options, context);
}

void run_knn(KnnArguments& args) {
  check_outputs(args);
  if (args.timeout) {
    args.context.deadline =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                               std::chrono::duration<double>(*args.timeout));
  }
  const auto queries = open_vectors(args.queries, args.file);
  const auto base = open_vectors(args.base, args.file);
  std::vector<std::int64_t> allowed;
  if (!args.filter.empty()) {
    allowed = read_id_table(args.filter).ids;
    args.options.filter = RowFilter::list(allowed);
    if (args.context.memory_limit) {  // the library cannot know of this copy
      *args.context.memory_limit -= static_cast<std::int64_t>(allowed.size() * sizeof(allowed[0]));
    }
  }
  const KnnTask task{queries->rows(), base->rows(), base->cols(), args.options.k,
                     args.options.metric};
  check_fits(args, task);
  if (args.plan) {
    const Plan plan = plan_knn(*queries, *base, args.options, args.context);
    print_line(args.json ? to_json(task, plan) : to_string(plan));
    return;
  }
  const Neighbors found = search(args, *queries, *base);
  write_results(args, found);
  if (!args.quiet) {
    fmt::print(stderr, "{}\n", summary(task, found.stats));
  }
  if (args.json) {
    print_line(to_json(task, found));
  }
}

}  // namespace

void add_knn_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("knn", "Exact k nearest neighbours of vectors in files");
  const auto args = std::make_shared<KnnArguments>();
  add_input_options(*command, *args);
  add_search_options(*command, *args);
  add_run_options(*command, *args);
  add_output_options(*command, *args);
  command->footer(fmt::format("{}\n{}", kExample, kExitCodeHelp));
  command->callback([args] { run_knn(*args); });
}

}  // namespace nearfield::cli
