// What the commands of indexes have in common.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "options.hpp"

namespace nearfield::cli {

inline void add_index(CLI::App& app, std::string& index) {
  add_path(app, "--index", index, "Index file, as `nearfield build` makes it")
      ->group(kInput)
      ->required();
}

}  // namespace nearfield::cli
