// `nearfield info`: what files hold.
#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// Runs when the command line is parsed and names it. Throws Error, and CLI::ParseError for usage.
void add_info_command(CLI::App& app);

}  // namespace nearfield::cli
