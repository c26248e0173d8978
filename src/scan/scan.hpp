// The one loop: filter, verify, select. Only this folder calls a Verifier or a Sink.
#pragma once

#include <cstdint>

#include "core/monitor.hpp"
#include "filter/filter.hpp"
#include "filter/row_set.hpp"
#include "scan/sink.hpp"
#include "scan/verifier.hpp"

namespace nearfield {

struct ScanGrid {
  Range queries;
  Range rows;
  std::int64_t query_tile = 1;
  std::int64_t row_tile = 1;
  // Of the first block, which no threshold guards yet; each one after it has twice as many rows.
  std::int64_t first_row_tile = 1;
  // Parts of the rows that run side by side, each with a sink of its own.
  std::int64_t row_parts = 1;
  int threads = 1;
  // The filter waits for a device. A worker of the pool that does so is lost to who else is on it:
  // Intel's OpenCL runs its kernels there, and parts of its device waited for each other for ever.
  bool filter_waits = false;
};

struct ScanCounts {
  std::int64_t considered = 0;
  std::int64_t verified = 0;
};

// Sends every block of the grid through the three steps. Throws what the monitor throws.
ScanCounts scan(const ScanGrid& grid, const RowSet& allowed, const Filter& filter,
                const Verifier& verifier, Sink& sink, Monitor& monitor);

}  // namespace nearfield
