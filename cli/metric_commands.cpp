#include "metric_commands.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/metric_index.hpp>
#include <nearfield/object_metrics.hpp>
#include <nearfield/version.hpp>

#include "csv.hpp"
#include "help.hpp"
#include "json.hpp"
#include "key_file.hpp"
#include "names.hpp"
#include "options.hpp"
#include "search_run.hpp"
#include "standard_output.hpp"

namespace nearfield::cli {
namespace {

constexpr const char* kStandardInput = "/dev/stdin";
constexpr const char* kStandardOutput = "/dev/stdout";
constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostBudget = std::int64_t{1} << 62;  // of choosing, as the library has it

struct MetricArguments {
  std::string objects;
  std::string queries;  // empty: standard input, or for pairs none
  std::string metric = "edit";
  std::int64_t k = 10;
  std::optional<double> radius;
  bool ids_only = false;
  std::optional<std::int64_t> count;
  std::optional<std::int64_t> budget;
  std::int64_t triples = 10'000;
  PivotOptions pivots;
  std::optional<std::int64_t> looked_at;  // of the pivots that an object keeps
  RunOptions run;
  OutputPath output{"--output", {".csv"}, {}};
  bool json = false;
  bool quiet = false;
};

// The lines of a text file.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path) {
    for (const std::string_view line : file_.keys()) {
      views_.push_back(ObjectBytes<std::string>::bytes(line));
    }
  }

  std::span<const ObjectView> views() const { return views_; }
  std::int64_t size() const { return std::ssize(views_); }
  std::vector<std::string> texts(std::span<const std::int64_t> ids) const {
    std::vector<std::string> texts;
    for (const std::int64_t id : ids) {
      texts.emplace_back(file_.keys()[static_cast<std::size_t>(id)]);
    }
    return texts;
  }

 private:
  KeyFile file_;
  std::vector<ObjectView> views_;
};

// Made on the CPU, wherever it is searched.
MetricIndex index_of(const MetricArguments& args, const Lines& lines, Context context) {
  context.device.clear();
  context.device_memory_limit.reset();
  MetricIndex index(object_metric(args.metric), args.pivots);
  index.add(lines.views(), context);
  return index;
}

// What a search took, on standard error; and with --json all of it on standard output.
void report(const MetricArguments& args, std::string_view command, std::int64_t found, bool exact,
            const Stats& stats) {
  const Plan& plan = stats.plan;
  if (!args.quiet) {
    const double share = stats.pairs_considered > 0
                             ? 100.0 * static_cast<double>(stats.pairs_verified) /
                                   static_cast<double>(stats.pairs_considered)
                             : 0;
    fmt::print(stderr, "{}: {} found in {:.3f} s, {}, {} distances, {:.3g} % of {} pairs{}\n",
               command, found, stats.seconds, plan.filter, stats.pairs_verified, share,
               stats.pairs_considered, exact ? "" : "; the budget ended it, so that some may miss");
  }
  if (!args.json) return;
  print_result(JsonObject()
                   .add("nearfield", version())
                   .add("command", command)
                   .add("metric", args.metric)
                   .add("found", found)
                   .add("exact", exact)
                   .add("filter", plan.filter)
                   .add("isa", to_string(plan.isa))
                   .add("device", plan.device)
                   .add("note", plan.note)
                   .add("threads", plan.threads)
                   .add("pairs", stats.pairs_considered)
                   .add("distances", stats.pairs_verified)
                   .add("seconds", stats.seconds)
                   .text());
}

// Where results go: a file, or standard output unless that has the JSON.
std::optional<std::string> results_path(const MetricArguments& args) {
  if (args.output.given()) return args.output.path;
  if (args.json) return std::nullopt;
  return kStandardOutput;
}

void check_files(const MetricArguments& args) {
  if (args.json) check_json_alone(args.output);
  check_output_paths(std::span(&args.output, 1), std::array{args.objects, args.queries});
}

void run_metric_search(const MetricArguments& args) {
  check_files(args);
  const Context context = context_of(args.run, {});
  const Lines objects(args.objects);
  if (args.queries.empty() && !args.quiet && ::isatty(STDIN_FILENO) == 1) {
    fmt::print(stderr, "queries from standard input, one a line; Ctrl-D ends them\n");
  }
  const Lines queries(args.queries.empty() ? kStandardInput : args.queries);
  const MetricIndex index = index_of(args, objects, context);
  const KeysOf texts = [&](std::span<const std::int64_t> ids) { return objects.texts(ids); };
  const auto path = results_path(args);
  if (args.radius) {
    const MetricRangeOptions options{.radius = *args.radius,
                                     .ids_only = args.ids_only,
                                     .budget = args.budget,
                                     .pivots = args.looked_at};
    const Ranges found = run_watched(context, args.quiet, [&](const Context& watched) {
      return index.within(queries.views(), options, watched);
    });
    if (path && args.ids_only) {
      write_ids_csv(*path, found, texts);
    } else if (path) {
      write_csv(*path, found, texts);
    }
    report(args, "metric search", std::ssize(found.ids), found.exact, found.stats);
    return;
  }
  const MetricSearchOptions options{.k = args.k, .budget = args.budget, .pivots = args.looked_at};
  const Neighbors found = run_watched(context, args.quiet, [&](const Context& watched) {
    return index.search(queries.views(), options, watched);
  });
  if (path) write_csv(*path, found, texts);
  std::int64_t count = 0;
  for (const std::int64_t one : found.counts) count += one;
  report(args, "metric search", count, found.exact, found.stats);
}

void run_metric_pairs(const MetricArguments& args) {
  check_files(args);
  if (!args.radius && !args.count) throw CLI::RequiredError("--radius or --count");
  const Context context = context_of(args.run, {});
  const Lines objects(args.objects);
  const MetricIndex index = index_of(args, objects, context);
  const MetricPairsOptions options{
      .radius = args.radius, .count = args.count, .pivots = args.looked_at};
  std::optional<Lines> others;
  if (!args.queries.empty()) others.emplace(args.queries);
  const Pairs found = run_watched(context, args.quiet, [&](const Context& watched) {
    return others ? index.pairs(others->views(), options, watched) : index.pairs(options, watched);
  });
  if (const auto path = results_path(args)) write_csv(*path, found);
  report(args, "metric pairs", std::ssize(found.first), found.exact, found.stats);
}

void run_metric_check(const MetricArguments& args) {
  const Lines objects(args.objects);
  const Context context = context_of(args.run, {});
  const MetricReport report = run_watched(context, args.quiet, [&](const Context& watched) {
    return check_metric(*object_metric(args.metric), objects.views(), args.triples, watched);
  });
  print_result(to_string(report));
}

std::string metric_list() {
  std::string list;
  for (const ObjectMetricInfo& info : object_metrics()) {
    if (info.input != ObjectInput::text) continue;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", info.name, info.description);
  }
  return list;
}

void add_objects(CLI::App& command, MetricArguments& args) {
  add_path(command, "OBJECTS", args.objects, "Text file, an object a line, called by its number")
      ->group(kInput)
      ->required();
  const auto known = [](const std::string& name) {
    for (const ObjectMetricInfo& info : object_metrics()) {
      if (info.name == name && info.input == ObjectInput::text) return name;
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is no metric of texts: one of {}", name, metric_list()));
  };
  add_parsed(command, "--metric", args.metric, known, "One of " + metric_list())
      ->group(kSearch)
      ->type_name("TEXT_METRIC")
      ->default_str(args.metric);
}

void add_pivot_choice(CLI::App& command, MetricArguments& args) {
  const auto bits = [](const std::string& text) {
    return static_cast<int>(parse_count(text, 1, 8));
  };
  add_parsed(command, "--pivot-bits", args.pivots.bits, bits, "Bits of a distance to a pivot")
      ->group(kSearch)
      ->type_name("N")
      ->default_str(std::to_string(args.pivots.bits));
  add_parsed(command, "--pivot-choice", args.pivots.choice, parse_pivot_choice,
             fmt::format("How pivots are chosen, one of {}: at random, each far from those before "
                         "it, or each by the bounds that it raises",
                         fmt::join(pivot_choice_names(), ", ")))
      ->group(kSearch)
      ->type_name("CHOICE")
      ->default_str("max_separation");
  add_parsed(command, "--choice-budget", args.pivots.choice_budget, count_within(0, kMostBudget),
             "Distances that choosing pivots may take")
      ->group(kSearch)
      ->type_name("N")
      ->default_str(std::to_string(args.pivots.choice_budget));
  add_seed(command, args.run);
}

void add_pivot_options(CLI::App& command, MetricArguments& args) {
  add_parsed(command, "--pivots", args.pivots.pool, count_within(0, 256),
             "Objects that all others keep their distances to; if nothing is told of pivots, none "
             "where the metric has signatures, else 16")
      ->group(kSearch)
      ->type_name("N");
  add_parsed(command, "--kept", args.pivots.kept, count_within(0, 256),
             "Pivots that an object keeps: its nearest and farthest; 0: all")
      ->group(kSearch)
      ->type_name("N")
      ->default_str("0");
  add_parsed(command, "--look-at", args.looked_at, count_within(0, 256),
             "Pivots to look at, of those that an object keeps; all if not told")
      ->group(kSearch)
      ->type_name("N");
  add_pivot_choice(command, args);
  command
      .add_flag_callback(
          "--no-signatures", [&args] { args.pivots.signatures = false; },
          "Without the metric's own lower bounds")
      ->group(kSearch);
}

void add_outputs(CLI::App& command, MetricArguments& args) {
  add_run_options(command, args.run);
  add_output_file(command, args.output, "Write what is found; to standard output if not told");
  command.add_flag("--json", args.json, "Print statistics as one JSON object")->group(kOutput);
  command.add_flag("--quiet", args.quiet, "No progress and no summary on standard error")
      ->group(kOutput);
}

void add_metric_search(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("search", "The nearest objects of each query");
  const auto args = std::make_shared<MetricArguments>();
  add_objects(command, *args);
  add_path(command, "--queries", args->queries, "Text file of the queries; else standard input")
      ->group(kInput);
  add_k(command, args->k);
  CLI::Option* const radius = add_radius(command, args->radius);
  radius->excludes(command.get_option("-k"));
  command
      .add_flag("--ids-only", args->ids_only,
                "With --radius: no distances; objects that pivots prove to be within need none")
      ->group(kSearch)
      ->needs(radius);
  add_parsed(command, "--budget", args->budget, count_within(0, kMostCount),
             "Distances that a query may take; then the best of these, not exact")
      ->group(kSearch)
      ->type_name("N");
  add_pivot_options(command, *args);
  add_outputs(command, *args);
  add_device_options(command, args->run);
  command.footer(help_footer("words at most 2 edits away",
                             "nearfield metric search words.txt --queries typed.txt --radius 2"));
  command.callback([args] { run_metric_search(*args); });
}

void add_metric_pairs(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("pairs", "The closest pairs of objects, of one file or of two");
  const auto args = std::make_shared<MetricArguments>();
  add_objects(command, *args);
  add_path(command, "--queries", args->queries, "Pairs of a line of this file and an object")
      ->group(kInput);
  add_radius(command, args->radius);
  add_count(command, args->count);
  add_pivot_options(command, *args);
  add_outputs(command, *args);
  add_device_options(command, args->run);
  command.footer(help_footer("lines that differ by one edit",
                             "nearfield metric pairs words.txt --radius 1 --output pairs.csv"));
  command.callback([args] { run_metric_pairs(*args); });
}

void add_metric_check(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("check", "Looks for objects that break the rules of a metric");
  const auto args = std::make_shared<MetricArguments>();
  add_objects(command, *args);
  add_parsed(command, "--triples", args->triples, count_within(1, kMostCount),
             "How many triples of objects to look at")
      ->group(kSearch)
      ->type_name("N")
      ->default_str(std::to_string(args->triples));
  add_seed(command, args->run);
  add_isa(command, args->run);  // it has one thread, and keeps nothing
  add_timeout(command, args->run);
  command.add_flag("--quiet", args->quiet, "No progress on standard error")->group(kOutput);
  command.footer(help_footer("10,000 triples of words", "nearfield metric check words.txt"));
  command.callback([args] { run_metric_check(*args); });
}

}  // namespace

void add_metric_commands(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("metric", "Searches of texts under a metric of objects");
  command.require_subcommand(1);
  command.footer(help_footer("the 3 nearest words of each query",
                             "nearfield metric search words.txt --queries typed.txt -k 3"));
  add_metric_search(command);
  add_metric_pairs(command);
  add_metric_check(command);
}

}  // namespace nearfield::cli
