#include "scan/scan_once.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/make_room.hpp"
#include "core/tasks.hpp"
#include "scan/stripes.hpp"

namespace nearfield {
namespace {

// A worker's own memory, reused from block to block.
struct TwoWayScratch {
  Candidates candidates;
  std::vector<double> thresholds;
  std::vector<double> row_thresholds;
  std::vector<double> keys;
  ScanCounts counts;
};

// Queries tile by tile. The first are small: all rows meet them before they have a threshold, so
// that all pairs survive.
std::vector<Range> query_tiles(Range queries, std::int64_t first, std::int64_t most) {
  std::vector<Range> tiles;
  for (std::int64_t begin = queries.begin; begin < queries.end;) {
    const std::int64_t size = std::clamp(begin - queries.begin, first, most);
    tiles.push_back({begin, std::min(begin + size, queries.end)});
    begin = tiles.back().end;
  }
  return tiles;
}

class OnceScan {
 public:
  OnceScan(const ScanGrid& grid, const TwoSidedFilter& filter, const Verifier& verifier,
           TwoSidedSink& sink, Monitor& monitor)
      : grid_(grid),
        filter_(filter),
        verifier_(verifier),
        sink_(sink),
        monitor_(monitor),
        one_set_(sink.one_set()),
        stripes_(grid.rows),
        scratch_(static_cast<std::size_t>(grid.threads)) {}

  ScanCounts run() {
    const std::vector<Range> tiles = query_tiles(
        grid_.queries, std::min(grid_.first_row_tile, grid_.query_tile), grid_.query_tile);
    std::int64_t done = 0;
    while (one_set_ && done < std::ssize(tiles) &&
           tiles[static_cast<std::size_t>(done)].size() < grid_.query_tile) {
      run_opening(tiles[static_cast<std::size_t>(done++)]);
    }
    run_tasks(std::ssize(tiles) - done, grid_.threads, [&](std::int64_t task, int worker) {
      run_tile(tiles[static_cast<std::size_t>(done + task)],
               scratch_[static_cast<std::size_t>(worker)]);
    });
    ScanCounts total;
    for (const TwoWayScratch& worker : scratch_) {
      total.considered += worker.counts.considered;
      total.verified += worker.counts.verified;
    }
    return total;
  }

 private:
  // Of one set: threads share the rows, so that each has met the first queries, and has a threshold
  // by them, before it meets others. Of 100,000 vectors, k = 10, that leaves 12 instead of 20
  // million pairs to be looked at.
  void run_opening(Range queries) {
    const std::int64_t begin = queries.begin;
    const std::int64_t rows = grid_.rows.end - begin;
    const std::int64_t size =
        std::min(grid_.row_tile, round_up(divide_up(rows, grid_.threads), grid_.first_row_tile));
    run_tasks(divide_up(rows, size), grid_.threads, [&](std::int64_t task, int worker) {
      const DefaultFloats floats;
      const std::int64_t row = begin + task * size;
      run_block({queries, {row, std::min(row + size, grid_.rows.end)}},
                scratch_[static_cast<std::size_t>(worker)]);
    });
  }

  void run_tile(Range queries, TwoWayScratch& scratch) {
    const DefaultFloats floats;
    // Of one set, earlier tiles have given each query a threshold, as a row of theirs.
    std::int64_t row = one_set_ ? queries.begin : grid_.rows.begin;
    std::int64_t size = one_set_ ? grid_.row_tile : grid_.first_row_tile;
    while (row < grid_.rows.end) {
      const Block block{queries, {row, std::min(row + size, grid_.rows.end)}};
      run_block(block, scratch);
      row = block.rows.end;
      size = std::min(2 * size, grid_.row_tile);
    }
  }

  void run_block(const Block& block, TwoWayScratch& scratch) {
    read_thresholds(block, scratch);
    filter_.survivors_of_both(block, scratch.thresholds, scratch.row_thresholds,
                              scratch.candidates);
    monitor_.check();
    if (one_set_ && block.rows.begin < block.queries.end) {
      scratch.candidates.keep_if([](std::int64_t query, std::int64_t row) { return query < row; });
    }
    const std::int64_t pairs = one_set_ ? pairs_of_one_set(block) : 2 * block.pairs();
    scratch.counts.considered += pairs;
    scratch.counts.verified += scratch.candidates.size();
    if (scratch.candidates.size() > 0) consume(scratch);
    monitor_.advance(pairs);
  }

  // Of two sets, a query is with one thread at a time.
  template <class Work>
  void with_queries(Range queries, const Work& work) {
    if (one_set_) {
      stripes_.with(queries, work);
    } else {
      work();
    }
  }

  void read_thresholds(const Block& block, TwoWayScratch& scratch) {
    scratch.thresholds.resize(static_cast<std::size_t>(block.queries.size()));
    scratch.row_thresholds.resize(static_cast<std::size_t>(block.rows.size()));
    with_queries(block.queries, [&] { sink_.thresholds(block.queries, scratch.thresholds); });
    stripes_.with(block.rows, [&] { sink_.row_thresholds(block.rows, scratch.row_thresholds); });
  }

  // A query and a row behind it in both orders, and a row with itself, as scan counts them. Rows
  // that are queries of the block are its first.
  static std::int64_t pairs_of_one_set(const Block& block) {
    const std::int64_t both =
        std::max<std::int64_t>(std::min(block.rows.end, block.queries.end) - block.rows.begin, 0);
    const std::int64_t before = block.rows.begin - block.queries.begin;
    const std::int64_t ordered =
        both * before + both * (both - 1) / 2 + block.queries.size() * (block.rows.size() - both);
    return 2 * ordered + both;
  }

  void consume(TwoWayScratch& scratch) {
    const Block& block = scratch.candidates.block();
    if (!scratch.candidates.keyed()) {
      reserve_room(scratch.keys, static_cast<std::size_t>(block.pairs()));  // as in scan.cpp
      scratch.keys.resize(static_cast<std::size_t>(scratch.candidates.size()));
      // What is too far for the query may be near enough for a row.
      const double of_rows =
          *std::max_element(scratch.row_thresholds.begin(), scratch.row_thresholds.end());
      for (double& threshold : scratch.thresholds) threshold = std::max(threshold, of_rows);
      verifier_.keys(scratch.candidates, scratch.thresholds, scratch.keys, monitor_);
      monitor_.check();
    }
    const std::span<const double> keys =
        scratch.candidates.keyed() ? scratch.candidates.keys() : scratch.keys;
    with_queries(block.queries, [&] { sink_.consume(scratch.candidates, keys); });
    monitor_.check();
    stripes_.with(block.rows, [&] { sink_.consume_turned(scratch.candidates, keys); });
  }

  const ScanGrid& grid_;
  const TwoSidedFilter& filter_;
  const Verifier& verifier_;
  TwoSidedSink& sink_;
  Monitor& monitor_;
  const bool one_set_;
  Stripes stripes_;
  std::vector<TwoWayScratch> scratch_;
};

}  // namespace

ScanCounts scan_once(const ScanGrid& grid, const TwoSidedFilter& filter, const Verifier& verifier,
                     TwoSidedSink& sink, Monitor& monitor) {
  return OnceScan(grid, filter, verifier, sink, monitor).run();
}

}  // namespace nearfield
