// The loop of scan.hpp where a query meets rows by their lower bounds, the nearest first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/monitor.hpp"
#include "filter/bound_filter.hpp"
#include "filter/row_set.hpp"
#include "scan/level_kernels.hpp"
#include "scan/sink.hpp"
#include "scan/verifier.hpp"

namespace nearfield {

struct RisingGrid {
  Range queries;
  std::int64_t rows = 0;
  // Empty, or a bit for each query from 0 on: others ask nothing.
  std::span<const std::uint64_t> asking = {};
  // Queries whose levels are asked for at once, and kept side by side.
  std::int64_t query_tile = 1;
  // Candidates of the first block of a query; each block after it has twice as many, up to most.
  std::int64_t first_block = 1;
  std::int64_t most_block = 1;
  // Thresholds do not fall: rows need not come in the order of their levels.
  bool fixed_thresholds = false;
  // Nobody asks for keys: a row that is surely within its threshold is taken without one, under the
  // threshold itself. With fixed thresholds only.
  bool keys_do_not_matter = false;
  // Candidates of a query that are verified at most. Empty: all.
  std::optional<std::int64_t> budget = {};
  int threads = 1;
};

struct RisingCounts {
  std::int64_t considered = 0;
  std::int64_t verified = 0;
  std::int64_t cut = 0;  // queries that the budget ended
};

// What a thread needs.
std::int64_t rising_bytes(const RisingGrid& grid);

// A query ends at the first level above its threshold. Throws what the monitor throws, whose pairs
// are all of the grid.
RisingCounts scan_rising(const RisingGrid& grid, const RowSet& allowed, const BoundFilter& filter,
                         const LevelKernels& kernels, const Verifier& verifier, Sink& sink,
                         Monitor& monitor);

}  // namespace nearfield
