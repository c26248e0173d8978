#include "eval_command.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nearfield/nearfield.hpp>

#include "eval_report.hpp"
#include "exit_code.hpp"
#include "help.hpp"
#include "options.hpp"
#include "search_options.hpp"
#include "search_run.hpp"
#include "standard_output.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

struct EvalArguments {
  std::string results;
  std::string truth;
  std::string truth_distances;
  std::string queries;
  std::string base;
  std::optional<MetricSpec> metric;
  FileOptions file;
  RunOptions run;
  std::vector<std::int64_t> at;
  std::optional<double> at_least;
  bool json = false;
  bool quiet = false;
};

// Ids, and their distances where the file has both.
struct Answers {
  IdTable ids;
  std::optional<Matrix> distances;
};

std::vector<std::int64_t> parse_list(const std::string& text) {
  std::vector<std::int64_t> numbers;
  std::istringstream list(text);
  for (std::string number; std::getline(list, number, ',');) {
    numbers.push_back(parse_count(number, 1, std::numeric_limits<std::uint32_t>::max()));
  }
  if (numbers.empty()) {
    throw Error(ErrorCode::invalid_argument, "the list is empty: write numbers, as in 1,10,100");
  }
  return numbers;
}

double parse_share(const std::string& text) {
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(share >= 0 && share <= 1)) {  // so written, it refuses NaN
    throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is not a number from 0 to 1", text));
  }
  return share;
}

Answers read_answers(const std::string& path) {
  if (describe_file(path).content != FileInfo::Content::truth) {
    return {read_id_table(path), std::nullopt};
  }
  Truth truth = read_truth(path);
  Matrix distances(DType::f32, truth.rows, truth.k);
  if (!truth.distances.empty()) {
    std::ranges::copy(std::as_bytes(std::span(truth.distances)), distances.row(0));
  }
  return {{truth.rows, truth.k, std::move(truth.ids)}, std::move(distances)};
}

// Those of 1, 10 and 100 that both files have.
std::vector<std::int64_t> default_at(const IdTable& results, const IdTable& truth) {
  std::vector<std::int64_t> at{1, 10, 100};
  std::erase_if(at, [&](std::int64_t k) { return k > std::min(results.cols, truth.cols); });
  return at;
}

void check_together(const EvalArguments& args) {
  const int given = !args.queries.empty() + !args.base.empty() + args.metric.has_value();
  if (given != 0 && given != 3) {
    throw CLI::RequiresError("--queries, --base and --metric",
                             "each other: all three are needed to compute distances");
  }
  if (given == 3 && !args.truth_distances.empty()) {
    throw CLI::ExcludesError("--truth-distances", "--queries: distances are computed");
  }
  if (given == 0 && args.file.bits != 0) {
    throw CLI::RequiresError("--bits", "--queries and --base");
  }
}

Recall computed_recall(const EvalArguments& args, const IdTable& results, const IdTable& truth) {
  return run_watched(context_of(args.run, {}), args.quiet, [&](const Context& context) {
    return recall(results, truth, args.at, *open_vectors(args.queries, args.file),
                  *open_vectors(args.base, args.file), *args.metric, context);
  });
}

void check_target(const EvalArguments& args, const Recall& recall) {
  const RecallAt& last = *std::ranges::max_element(recall.at, {}, &RecallAt::k);
  if (args.at_least && last.recall.mean < *args.at_least) {
    throw BelowTarget(fmt::format("recall@{} is {:.5f}, below the {} of --at-least", last.k,
                                  last.recall.mean, *args.at_least));
  }
}

void run_eval(EvalArguments& args) {
  check_together(args);
  const Answers results = read_answers(args.results);
  Answers truth = read_answers(args.truth);
  if (args.at.empty()) {
    args.at = default_at(results.ids, truth.ids);
  }
  if (!args.truth_distances.empty()) {
    truth.distances = read_all(*open_vectors(args.truth_distances));
  }
  TieSource ties = kComputedTies;
  Recall found;
  if (!args.base.empty()) {
    found = computed_recall(args, results.ids, truth.ids);
  } else {
    ties = truth.distances ? kTruthTies : kNoTies;
    found = recall(results.ids, {truth.ids, truth.distances}, args.at);
  }
  print_result(args.json ? to_json(found, ties) : to_text(found, ties));
  check_target(args, found);
}

void add_options(CLI::App& app, EvalArguments& args) {
  add_path(app, "--results", args.results, "Ids that were found: .ibin, .ivecs, .npy, HDF5, truth")
      ->required();
  add_path(app, "--truth", args.truth, "True ids: the same kinds of files")->required();
  add_path(app, "--truth-distances", args.truth_distances,
           "Distances of the true ids, to count ties; ground truth has its own");
  CLI::Option* const queries = add_path(app, "--queries", args.queries,
                                        "With --base and --metric: compute distances instead");
  add_path(app, "--base", args.base, "The rows that the ids name");
  add_parsed(app, "--metric", args.metric, parse_metric, "Of the search, as for knn")
      ->type_name("METRIC");
  add_parsed(app, "--bits", args.file.bits, count_within(1, kMaxCols),
             "The bytes of queries and base are packed bits, N a row")
      ->type_name("N");
  add_parsed(app, "--at", args.at, parse_list,
             "The k of recall@k; by default those of 1,10,100 that both files have")
      ->type_name("K,...");
  add_parsed(app, "--at-least", args.at_least, parse_share,
             "Exit with code 5 if recall at the largest k is lower")
      ->type_name("R");
  add_timeout(app, args.run)->needs(queries);  // without distances to compute it has no effect
  app.add_flag("--json", args.json, "Print one JSON object");
  app.add_flag("--quiet", args.quiet, "No progress on standard error");
}

}  // namespace

void add_eval_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("eval", "Recall of found neighbours");
  const auto args = std::make_shared<EvalArguments>();
  add_options(*command, *args);
  command->footer(help_footer("exit code 5 if fewer than 95 % of the 10 nearest were found",
                              "nearfield eval --results ids.ibin --truth truth.bin --at 10 "
                              "--at-least 0.95"));
  command->callback([args] { run_eval(*args); });
}

}  // namespace nearfield::cli
