// `nearfield match --colmap`: the images of a COLMAP database, many pairs at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nearfield/match.hpp>

#include "search_options.hpp"

namespace nearfield::cli {

struct ColmapArguments {
  std::string database;              // empty: not of COLMAP
  std::string pairs = "exhaustive";  // that, "sequential", or the name of a file
  std::optional<std::int64_t> overlap;
  bool overwrite = false;
};

void add_colmap_options(CLI::App& app, ColmapArguments& args);

// Writes the matches of every pair that has none into the database, and says what it took. What was
// done by the time of an interrupt or a deadline stays there.
void match_colmap(const ColmapArguments& args, const MatchOptions& options, const RunOptions& run,
                  const OutputOptions& output);

}  // namespace nearfield::cli
