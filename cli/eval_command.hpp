// `nearfield eval`: the recall of found neighbours.
#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// Runs when the command line is parsed and names it. Throws Error, BelowTarget, and
// CLI::ParseError for usage.
void add_eval_command(CLI::App& app);

}  // namespace nearfield::cli
