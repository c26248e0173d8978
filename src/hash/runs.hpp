// How tables grow with the rows they are of: in runs, each with tables of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfield {

// A run is more than this many times as long as the next: so there are few of them to look into,
// at most log4 of the rows. How often a row is sorted into tables hangs on how rows come: of
// 10,000,000 in batches of 2,048 on average 12.7 times, the oldest 32 times; at once, once.
inline constexpr std::int64_t kRunRatio = 4;

struct GrownRuns {
  std::size_t kept = 0;    // of the runs there were, the first
  std::int64_t begin = 0;  // of the one run that is made of all rows behind them
};

// ends: of the runs there are, which begin at row 0 and follow each other. rows: up to where there
// are to be runs.
inline GrownRuns grow_runs(std::span<const std::int64_t> ends, std::int64_t rows) {
  std::size_t kept = ends.size();
  const auto begin_of = [&](std::size_t run) { return run > 0 ? ends[run - 1] : 0; };
  while (kept > 0 && ends[kept - 1] - begin_of(kept - 1) <= kRunRatio * (rows - ends[kept - 1])) {
    --kept;
  }
  return {kept, begin_of(kept)};
}

}  // namespace nearfield
