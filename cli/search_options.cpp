#include "search_options.hpp"

#include <limits>

#include <fmt/format.h>
#include <nearfield/isa.hpp>

#include "bytes.hpp"
#include "help.hpp"
#include "names.hpp"
#include "options.hpp"

namespace nearfield::cli {
namespace {

constexpr auto kRun = "Run";
constexpr int kMostThreads = 1024;  // as the library has it

}  // namespace

CLI::App& add_search_command(CLI::App& app, Mode mode, const CommandHelp& help) {
  CLI::App& command = *app.add_subcommand(help.name, help.description);
  const std::string example =
      fmt::format("nearfield {}{} {}", mode == Mode::plan ? "plan " : "", help.name, help.example);
  command.footer(help_footer(help.example_of, example));
  return command;
}

CLI::Option* add_queries(CLI::App& app, InputOptions& input, const std::string& help) {
  return add_path(app, "--queries", input.queries, help)->group(kInput);
}

CLI::Option* add_base(CLI::App& app, InputOptions& input) {
  CLI::Option* const base =
      add_path(app, "--base", input.base,
               "Vector file to search, read in pieces: .fbin and its kin, .fvecs, .bvecs, .npy")
          ->group(kInput)
          ->required();
  add_parsed(app, "--bits", input.file.bits, count_within(1, kMaxCols),
             "The bytes of the vector files are packed bits, N a row")
      ->group(kInput)
      ->type_name("N");
  return base;
}

void add_filter(CLI::App& app, InputOptions& input) {
  add_path(app, "--filter", input.filter,
           "Find only the base rows whose ids are in this file: .ibin, .ivecs, .npy")
      ->group(kInput);
}

void add_queries_and_base(CLI::App& app, InputOptions& input) {
  add_queries(app, input, "Vector file of the queries")->required();
  add_base(app, input);
  add_filter(app, input);
}

void add_k(CLI::App& app, std::int64_t& k, const std::string& help) {
  // The header of a result file holds 32 bits.
  add_parsed(app, "-k", k, count_within(1, std::numeric_limits<std::uint32_t>::max()), help)
      ->group(kSearch)
      ->type_name("N")
      ->default_str(std::to_string(k));
}

CLI::Option* add_radius(CLI::App& app, std::optional<double>& radius) {
  return add_parsed(
             app, "--radius", radius, parse_number,
             "Find what is at most so far, or of a similarity at least this, in what the metric "
             "reports")
      ->group(kSearch)
      ->type_name("R");
}

void add_count(CLI::App& app, std::optional<std::int64_t>& count) {
  add_parsed(app, "--count", count, count_within(1, std::numeric_limits<std::int64_t>::max()),
             "So many of the closest")
      ->group(kSearch)
      ->type_name("N");
}

void add_exclude_self(CLI::App& app, bool& exclude_self) {
  app.add_flag("--exclude-self", exclude_self, "Query i is base row i and does not find itself")
      ->group(kSearch);
}

void add_metric_name(CLI::App& app, MetricSpec& metric) {
  add_parsed(app, "--metric", metric, parse_metric,
             fmt::format("One of {}", fmt::join(metric_names(), ", ")))
      ->group(kSearch)
      ->type_name("METRIC")
      ->default_str(to_string(metric));
}

void add_metric(CLI::App& app, MetricSpec& metric, bool& check_finite) {
  add_metric_name(app, metric);
  app.add_flag("--check-finite", check_finite,
               "Fail if a row holds a NaN or an infinity, instead of never returning it")
      ->group(kSearch);
}

void add_largest(CLI::App& app, bool& largest) {
  app.add_flag("--largest", largest, "The largest, the largest first")->group(kSearch);
}

void add_as_keys(CLI::App& app, bool& keys) {
  app.add_flag("--as-keys", keys,
               "The key that searches order by, instead of what the metric reports of it")
      ->group(kSearch);
}

void add_knn_options(CLI::App& app, KnnOptions& search) {
  add_k(app, search.k);
  add_metric(app, search.metric, search.check_finite);
  add_exclude_self(app, search.exclude_self);
}

void add_seed(CLI::App& app, RunOptions& run) {
  const auto seed = [](const std::string& text) {
    return static_cast<std::uint64_t>(
        parse_count(text, 0, std::numeric_limits<std::int64_t>::max()));
  };
  add_parsed(app, "--seed", run.context.seed, seed, "Of random numbers")
      ->group(kSearch)
      ->type_name("N")
      ->default_str("0");
}

void add_isa(CLI::App& app, RunOptions& run) {
  add_parsed(app, "--isa", run.context.isa, parse_isa,
             fmt::format("Instruction set, here one of {}; the results are the same",
                         fmt::join(isa_names(), ", ")))
      ->group(kRun)
      ->type_name("ISA");
}

CLI::Option* add_timeout(CLI::App& app, RunOptions& run) {
  return add_parsed(app, "--timeout", run.timeout, parse_seconds, "Give up after so many seconds")
      ->group(kRun)
      ->type_name("SECONDS");
}

void add_host_options(CLI::App& app, RunOptions& run) {
  const auto parse_threads = [](const std::string& text) {
    return static_cast<int>(parse_count(text, 0, kMostThreads));
  };
  add_parsed(app, "--threads", run.context.threads, parse_threads, "0: every core it may use")
      ->group(kRun)
      ->type_name("N")
      ->default_str("0");
  add_parsed(app, "--memory-limit", run.context.memory_limit, parse_bytes,
             "Most memory to use, the result included: 512M, 3G (powers of 1024)")
      ->group(kRun)
      ->type_name("BYTES");
  add_timeout(app, run);
}

void add_run_options(CLI::App& app, RunOptions& run) {
  add_host_options(app, run);
  add_isa(app, run);
}

void add_device_options(CLI::App& app, RunOptions& run) {
  const auto parse_device = [](const std::string& text) {
    if (text.empty()) {
      throw Error(ErrorCode::invalid_argument, "the name of the device is empty");
    }
    return text;
  };
  add_parsed(app, "--device", run.context.device, parse_device,
             "Where to compute, one of 'nearfield devices', or for a search several, with commas; "
             "the results are the same")
      ->group(kRun)
      ->type_name("DEVICE")
      ->default_str("cpu");
  add_parsed(app, "--device-memory-limit", run.context.device_memory_limit, parse_bytes,
             "Most memory to use of the device; what it has if not told")
      ->group(kRun)
      ->type_name("BYTES");
}

void add_result_files(CLI::App& app, OutputOptions& output, const std::string& ids) {
  add_output_file(app, output.ids, "Write the ids, " + ids);
  add_output_file(app, output.distances, "Write the distances or similarities");
}

void add_output_file(CLI::App& app, OutputPath& output, const std::string& help) {
  const std::string endings =
      output.endings.empty() ? "" : fmt::format(": {}", fmt::join(output.endings, ", "));
  add_path(app, output.option, output.path, help + endings)->group(kOutput);
}

void add_report_options(CLI::App& app, OutputOptions& output, const std::string& json) {
  app.add_flag("--json", output.json, fmt::format("Print {} as one JSON object", json))
      ->group(kOutput);
  app.add_flag("--quiet", output.quiet, "No progress and no summary on standard error")
      ->group(kOutput);
}

}  // namespace nearfield::cli
