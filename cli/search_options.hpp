// The options of searches: one name, one meaning and one text in every command that has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nearfield/context.hpp>
#include <nearfield/files.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/metric.hpp>

#include "output_path.hpp"

namespace nearfield::cli {

enum class Mode { run, plan };

struct CommandHelp {
  std::string name;
  std::string description;
  std::string_view example_of;
  std::string_view example;  // what follows the name
};

// An empty command, with its help.
CLI::App& add_search_command(CLI::App& app, Mode mode, const CommandHelp& help);

struct InputOptions {
  std::string queries;  // empty where a command searches one set
  std::string base;
  std::string filter;  // empty: every row
  FileOptions file;
};

CLI::Option* add_queries(CLI::App& app, InputOptions& input, const std::string& help);
CLI::Option* add_base(CLI::App& app, InputOptions& input);  // and --bits; required
void add_filter(CLI::App& app, InputOptions& input);
void add_queries_and_base(CLI::App& app, InputOptions& input);  // and the filter; both required

void add_k(CLI::App& app, std::int64_t& k, const std::string& help = "How many neighbours of each");
CLI::Option* add_radius(CLI::App& app, std::optional<double>& radius);
void add_count(CLI::App& app, std::optional<std::int64_t>& count);
void add_exclude_self(CLI::App& app, bool& exclude_self);
void add_metric_name(CLI::App& app, MetricSpec& metric);
void add_metric(CLI::App& app, MetricSpec& metric, bool& check_finite);
void add_largest(CLI::App& app, bool& largest);
void add_as_keys(CLI::App& app, bool& keys);
void add_knn_options(CLI::App& app, KnnOptions& search);

struct RunOptions {
  Context context;
  std::optional<double> timeout;
};

void add_seed(CLI::App& app, RunOptions& run);
void add_isa(CLI::App& app, RunOptions& run);
CLI::Option* add_timeout(CLI::App& app, RunOptions& run);
void add_host_options(CLI::App& app, RunOptions& run);  // threads, memory and the last
void add_run_options(CLI::App& app, RunOptions& run);   // these and the ISA
void add_device_options(CLI::App& app, RunOptions& run);

struct OutputOptions {
  OutputPath ids{"--output", {".ibin", ".ivecs", ".npy", ".csv"}, {}};
  OutputPath distances{"--distances", {".fbin", ".fvecs", ".npy"}, {}};
  OutputPath offsets{"--offsets", {".ibin", ".ivecs", ".npy"}, {}};
  bool json = false;
  bool quiet = false;
};

// --output and --distances; `ids` says how the ids lie in the file.
void add_result_files(CLI::App& app, OutputOptions& output, const std::string& ids);
void add_output_file(CLI::App& app, OutputPath& output, const std::string& help);
void add_report_options(CLI::App& app, OutputOptions& output,
                        const std::string& json = "task, plan and statistics");

}  // namespace nearfield::cli
