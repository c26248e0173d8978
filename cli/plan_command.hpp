// `nearfield plan`: what a search would do, and how many bytes it would take.
#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// With a command for each search, of the same options.
void add_plan_command(CLI::App& app);

}  // namespace nearfield::cli
