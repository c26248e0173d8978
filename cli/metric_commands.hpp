// `nearfield metric`: lines of text under a metric of objects.
#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// A command runs when the command line is parsed and names it. It throws Error, and
// CLI::ParseError for usage.
void add_metric_commands(CLI::App& app);

}  // namespace nearfield::cli
