// Commands over values alone, those that list and measure devices, and codes.
#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// A command runs when the command line is parsed and names it. It throws Error, and
// CLI::ParseError for usage.
void add_select_command(CLI::App& app);
void add_pairwise_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_train_command(CLI::App& app);
void add_encode_command(CLI::App& app);

}  // namespace nearfield::cli
