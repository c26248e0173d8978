#include "scan/scan_nearest.hpp"

#include <algorithm>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "scan/stripes.hpp"

namespace nearfield {
namespace {

class NearestScan {
 public:
  NearestScan(const ScanGrid& grid, const NearestFilter& filter, int kept, Monitor& monitor)
      : grid_(grid),
        filter_(filter),
        kept_(kept),
        monitor_(monitor),
        of_queries_(grid.queries.size()),
        of_rows_(grid.rows.size()),
        stripes_(grid.rows),
        workers_(static_cast<std::size_t>(grid.threads), Worker(grid.row_tile)) {}

  ScanCounts run() {
    const std::int64_t tile = query_tile();
    run_tasks(divide_up(grid_.queries.size(), tile), grid_.threads,
              [&](std::int64_t task, int worker) {
                const std::int64_t begin = grid_.queries.begin + task * tile;
                run_tile({begin, std::min(begin + tile, grid_.queries.end)},
                         workers_[static_cast<std::size_t>(worker)]);
              });
    ScanCounts total;
    for (const Worker& worker : workers_) {
      total.considered += worker.counts.considered;
      total.verified += worker.counts.verified;
    }
    return total;
  }

  const NearestKeys& of_queries() const { return of_queries_; }
  const NearestKeys& of_rows() const { return of_rows_; }

 private:
  // What filters by tiles look at together: queries, and places of rows.
  static constexpr std::int64_t kMultiple = 32;

  struct Worker {
    explicit Worker(std::int64_t row_tile) : rows(round_up(row_tile, kMultiple)) {}

    NearestKeys rows;  // of a block
    ScanCounts counts;
  };

  // Threads that end early wait for the last: with so many tiles each, for a sixteenth of the time.
  std::int64_t query_tile() const {
    constexpr std::int64_t kTilesOfAThread = 16;
    if (grid_.threads == 1) return grid_.query_tile;
    const std::int64_t fair = divide_up(grid_.queries.size(), kTilesOfAThread * grid_.threads);
    return std::min(grid_.query_tile, round_up(fair, kMultiple));
  }

  void run_tile(Range queries, Worker& worker) {
    const DefaultFloats floats;
    for (std::int64_t row = grid_.rows.begin; row < grid_.rows.end; row += grid_.row_tile) {
      run_block({queries, {row, std::min(row + grid_.row_tile, grid_.rows.end)}}, worker);
      monitor_.advance(2 * queries.size() * std::min(grid_.row_tile, grid_.rows.end - row));
    }
  }

  // A query is with one thread at a time; rows may be with several, each of which has a copy.
  void run_block(const Block& block, Worker& worker) {
    const std::int64_t first_row = block.rows.begin - grid_.rows.begin;
    stripes_.with(block.rows, [&] { of_rows_.copy(first_row, block.rows.size(), worker.rows); });
    worker.counts.verified += filter_.take_nearest(
        block, kept_, of_queries_.places().from(block.queries.begin - grid_.queries.begin),
        worker.rows.places());
    stripes_.with(block.rows, [&] { of_rows_.merge(first_row, block.rows.size(), worker.rows); });
    worker.counts.considered += 2 * block.pairs();
  }

  const ScanGrid& grid_;
  const NearestFilter& filter_;
  const int kept_;
  Monitor& monitor_;
  NearestKeys of_queries_;
  NearestKeys of_rows_;
  Stripes stripes_;
  std::vector<Worker> workers_;
};

}  // namespace

bool keeps_nearest(const ScanGrid& grid, const TwoSidedFilter& filter, TwoSidedSink& sink) {
  return filter.nearest() != nullptr && sink.nearest_keys() != nullptr &&
         std::max(grid.queries.end, grid.rows.end) <= NearestKeys::kMostIds;
}

ScanCounts scan_nearest(const ScanGrid& grid, const NearestFilter& filter, NearestKeysSink& sink,
                        Monitor& monitor) {
  NearestScan scan(grid, filter, sink.kept(), monitor);
  const ScanCounts counts = scan.run();
  sink.take(scan.of_queries(), scan.of_rows());
  return counts;
}

}  // namespace nearfield
