// `nearfield knn`: the exact nearest neighbours of the rows of one file among those of another.
#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// Runs when the command line is parsed and names it. Throws Error, and CLI::ParseError for usage.
void add_knn_command(CLI::App& app);

}  // namespace nearfield::cli
