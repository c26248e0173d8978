#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// build, add, remove, search, verify and compact.
void add_index_commands(CLI::App& app);

}  // namespace nearfield::cli
