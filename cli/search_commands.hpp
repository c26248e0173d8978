// The commands that search: each runs, or with `plan` before its name says what would run.
#pragma once

#include <CLI/CLI.hpp>

#include "search_options.hpp"

namespace nearfield::cli {

// A command runs when the command line is parsed and names it. It throws Error, and
// CLI::ParseError for usage.
void add_knn_command(CLI::App& app, Mode mode);
void add_graph_command(CLI::App& app, Mode mode);
void add_range_command(CLI::App& app, Mode mode);
void add_pairs_command(CLI::App& app, Mode mode);
void add_mutual_command(CLI::App& app, Mode mode);
void add_match_command(CLI::App& app, Mode mode);
void add_groundtruth_command(CLI::App& app, Mode mode);
void add_dedup_command(CLI::App& app);  // only run: its plan goes by the codes

// All of them.
void add_search_commands(CLI::App& app, Mode mode);

}  // namespace nearfield::cli
