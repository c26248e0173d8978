#include "scan/scan_rising.hpp"

#include <algorithm>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "scan/rising_query.hpp"

namespace nearfield {
namespace {

// Rows whose levels are made between two looks at the clock, and for all queries of a tile while
// what is kept of the rows is in a cache.
constexpr std::int64_t kRowsPerPiece = 1 << 14;

void run_tile(const RisingSteps& steps, Range queries, RisingScratch& scratch) {
  const RisingGrid& grid = steps.grid;
  const std::int64_t stride = level_stride(grid);
  scratch.prepare(grid);
  for (std::int64_t row = 0; row < grid.rows; row += kRowsPerPiece) {
    steps.filter.levels(queries, {row, std::min(row + kRowsPerPiece, grid.rows)},
                        scratch.levels.get() + row, stride);
    steps.monitor.check();
  }
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const std::uint8_t* const levels = scratch.levels.get() + (query - queries.begin) * stride;
    RisingProgress progress(grid);
    if (asks(grid, query)) RisingQuery(steps, query, {levels}, scratch, progress).run();
    const std::int64_t pairs = steps.allowed.pairs_in({{query, query + 1}, {0, grid.rows}});
    scratch.counts.considered += pairs;
    steps.monitor.advance(pairs);
  }
}

}  // namespace

std::int64_t rising_bytes(const RisingGrid& grid) {
  constexpr std::int64_t kOfARow = 2 * sizeof(std::uint32_t);  // found and sorted
  constexpr std::int64_t kOfACandidate = sizeof(double) + sizeof(std::uint32_t);
  return queries_at_once(grid) * level_stride(grid) + grid.rows * kOfARow +
         grid.most_block * kOfACandidate;
}

RisingCounts scan_rising(const RisingGrid& grid, const RowSet& allowed, const BoundFilter& filter,
                         const LevelKernels& kernels, const Verifier& verifier, Sink& sink,
                         Monitor& monitor) {
  const RisingSteps steps{grid, allowed, filter, kernels, verifier, sink, monitor};
  const std::int64_t tiles = divide_up(grid.queries.size(), grid.query_tile);
  std::vector<RisingScratch> all(static_cast<std::size_t>(grid.threads));
  run_tasks(tiles, grid.threads, [&](std::int64_t tile, int worker) {
    const DefaultFloats floats;
    const std::int64_t begin = grid.queries.begin + tile * grid.query_tile;
    run_tile(steps, {begin, std::min(begin + grid.query_tile, grid.queries.end)},
             all[static_cast<std::size_t>(worker)]);
  });
  RisingCounts total;
  for (const RisingScratch& worker : all) {
    total.considered += worker.counts.considered;
    total.verified += worker.counts.verified;
    total.cut += worker.counts.cut;
  }
  return total;
}

}  // namespace nearfield
