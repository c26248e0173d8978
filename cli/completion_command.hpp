// `nearfield completion`: scripts by which shells complete commands, options and values.
#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// Completes all commands of `app`, also those added later.
void add_completion_command(CLI::App& app);

}  // namespace nearfield::cli
