// `nearfield convert`: a file of vectors, ids or ground truth in another format or type.
#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// Runs when the command line is parsed and names it. Throws Error, and CLI::ParseError for usage.
void add_convert_command(CLI::App& app);

}  // namespace nearfield::cli
