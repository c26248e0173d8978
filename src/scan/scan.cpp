#include "scan/scan.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/make_room.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// A worker's own memory, reused from block to block.
struct Scratch {
  Candidates candidates;
  std::vector<double> thresholds;
  std::vector<double> keys;
  ScanCounts counts;
};

Range clip(Range whole, std::int64_t begin, std::int64_t size) {
  return {std::min(begin, whole.end), std::min(begin + size, whole.end)};
}

// What has been done of a block.
struct Done {
  std::int64_t row;  // its rows before this one
  std::int64_t pairs;
};

Done run_block(const Block& block, const RowSet& allowed, const Filter& filter,
               const Verifier& verifier, Sink& sink, const Monitor& monitor, Scratch& scratch) {
  if (allowed.pairs_in(block) == 0) return {block.rows.end, 0};
  scratch.thresholds.resize(static_cast<std::size_t>(block.queries.size()));
  sink.thresholds(block.queries, scratch.thresholds);
  filter.survivors(block, scratch.thresholds, scratch.candidates);
  monitor.check();
  const Block& answered = scratch.candidates.block();
  const Done done{answered.rows.end, allowed.pairs_in(answered)};
  allowed.restrict(scratch.candidates);
  const std::int64_t survivors = scratch.candidates.size();
  scratch.counts.considered += done.pairs;
  scratch.counts.verified += survivors;
  if (survivors == 0) return done;
  if (scratch.candidates.keyed()) {
    sink.consume(scratch.candidates, scratch.candidates.keys());
    return done;
  }
  // At once: growing by doubling would take twice what the plan counts.
  reserve_room(scratch.keys, static_cast<std::size_t>(scratch.candidates.most()));
  scratch.keys.resize(static_cast<std::size_t>(survivors));
  verifier.keys(scratch.candidates, scratch.thresholds, scratch.keys, monitor);
  sink.consume(scratch.candidates, scratch.keys);
  return done;
}

}  // namespace

ScanCounts scan(const ScanGrid& grid, const RowSet& allowed, const Filter& filter,
                const Verifier& verifier, Sink& sink, Monitor& monitor) {
  const std::int64_t tiles = divide_up(grid.queries.size(), grid.query_tile);
  const std::int64_t part_rows =
      round_up(divide_up(grid.rows.size(), grid.row_parts), grid.row_tile);

  std::vector<std::unique_ptr<Sink>> twins;
  for (std::int64_t part = 1; part < grid.row_parts; ++part) twins.push_back(sink.twin());
  std::vector<Scratch> scratch(static_cast<std::size_t>(grid.threads));

  const auto run = grid.filter_waits ? run_on_fresh_threads : run_tasks;
  run(tiles * grid.row_parts, grid.threads, [&](std::int64_t task, int worker) {
    const DefaultFloats floats;
    const std::int64_t part = task % grid.row_parts;
    const std::int64_t tile = task / grid.row_parts;
    const Range queries =
        clip(grid.queries, grid.queries.begin + tile * grid.query_tile, grid.query_tile);
    const Range rows = clip(grid.rows, grid.rows.begin + part * part_rows, part_rows);
    Sink& own = part == 0 ? sink : *twins[static_cast<std::size_t>(part - 1)];
    std::int64_t size = grid.first_row_tile;
    for (std::int64_t row = rows.begin; row < rows.end;) {
      const Done done = run_block({queries, clip(rows, row, size)}, allowed, filter, verifier, own,
                                  monitor, scratch[static_cast<std::size_t>(worker)]);
      monitor.advance(done.pairs);
      row = done.row;
      size = std::min(2 * size, grid.row_tile);
    }
  });

  if (!twins.empty()) {
    run_tasks(tiles, grid.threads, [&](std::int64_t tile, int) {
      const Range queries =
          clip(grid.queries, grid.queries.begin + tile * grid.query_tile, grid.query_tile);
      for (std::int64_t query = queries.begin; query < queries.end; ++query) {
        for (const auto& twin : twins) sink.merge(*twin, query);
        monitor.check();
      }
    });
  }

  ScanCounts total;
  for (const Scratch& worker : scratch) {
    total.considered += worker.counts.considered;
    total.verified += worker.counts.verified;
  }
  return total;
}

}  // namespace nearfield
