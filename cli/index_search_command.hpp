#pragma once

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// `search`, of an index.
void add_index_search(CLI::App& app);

}  // namespace nearfield::cli
