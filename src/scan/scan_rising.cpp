#include "scan/scan_rising.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/make_room.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// Rows whose levels are made between two looks at the clock, and for all queries of a tile while
// what is kept of the rows is in a cache.
constexpr std::int64_t kRowsPerPiece = 1 << 14;

std::int64_t level_stride(const RisingGrid& grid) { return round_up(grid.rows, kBoundBlock); }
std::int64_t queries_at_once(const RisingGrid& grid) {
  return std::min(grid.query_tile, grid.queries.size());
}

// A worker's own memory. Nobody fills it before: of 10,000,000 objects, one query took 140 ms where
// zeros were written first, and most rows are neither found nor sorted.
struct RisingScratch {
  std::unique_ptr<std::uint8_t[]> levels;
  std::unique_ptr<std::uint32_t[]> found;   // rows of some levels
  std::unique_ptr<std::uint32_t[]> sorted;  // the same by level
  std::vector<double> keys;
  Candidates candidates;
  RisingCounts counts;

  void prepare(const RisingGrid& grid) {
    if (levels) return;
    const auto rows = static_cast<std::size_t>(grid.rows);
    levels = std::make_unique_for_overwrite<std::uint8_t[]>(
        static_cast<std::size_t>(queries_at_once(grid) * level_stride(grid)));
    found = std::make_unique_for_overwrite<std::uint32_t[]>(rows);
    if (!grid.fixed_thresholds) sorted = std::make_unique_for_overwrite<std::uint32_t[]>(rows);
  }
};

// What all queries of a scan share.
struct RisingSteps {
  const RisingGrid& grid;
  const RowSet& allowed;
  const BoundFilter& filter;
  const LevelKernels& kernels;
  const Verifier& verifier;
  Sink& sink;
  Monitor& monitor;
};

// One query of a scan.
class RisingQuery {
 public:
  // levels: of all rows.
  RisingQuery(const RisingSteps& steps, std::int64_t query, const std::uint8_t* levels,
              RisingScratch& scratch)
      : grid_(steps.grid),
        allowed_(steps.allowed),
        filter_(steps.filter),
        kernels_(steps.kernels),
        verifier_(steps.verifier),
        sink_(steps.sink),
        monitor_(steps.monitor),
        query_(query),
        levels_(levels),
        scratch_(scratch),
        block_(grid_.first_block),
        left_(grid_.budget.value_or(grid_.rows)) {}

  // Levels in stretches, each as long as all before it, but the highest one, which has most rows
  // and of which ids may drop nearly all, alone: at most ten passes over them. Within a stretch
  // rows are sorted by level.
  void run() {
    int low = 0;
    for (;;) {
      const int highest = std::min(filter_.highest_level(threshold()), kMostLevel);
      if (low > highest) return;
      const int below = std::max(highest - 1, low);
      const int high =
          grid_.fixed_thresholds ? highest : std::min(below, std::max(2 * low - 1, low));
      if (!run_levels(low, high)) return;
      low = high + 1;
    }
  }

 private:
  double threshold() const {
    double threshold = 0;
    sink_.thresholds({query_, query_ + 1}, std::span(&threshold, 1));
    return threshold;
  }

  // False where the query is to end.
  bool run_levels(int low, int high) {
    const std::int64_t count = kernels_.find(levels_, grid_.rows, static_cast<std::uint8_t>(low),
                                             static_cast<std::uint8_t>(high), scratch_.found.get());
    std::span<std::uint32_t> rows(scratch_.found.get(), static_cast<std::size_t>(count));
    if (low < high && !grid_.fixed_thresholds) rows = by_level(rows, low);
    if (low == high && !grid_.fixed_thresholds) rows = useful(rows);
    while (!rows.empty()) {
      if (!grid_.fixed_thresholds && levels_[rows.front()] > filter_.highest_level(threshold())) {
        return false;
      }
      const auto size = static_cast<std::size_t>(std::min(block_, std::ssize(rows)));
      if (!run_block(rows.first(size))) return false;
      rows = rows.subspan(size);
      block_ = std::min(2 * block_, grid_.most_block);
      monitor_.check();
    }
    return true;
  }

  // Rows sorted by level, without those of the highest one that are of no use by their ids, and
  // without those above it.
  std::span<std::uint32_t> useful(std::span<std::uint32_t> rows) const {
    const int highest = filter_.highest_level(threshold());
    const auto first_of = [&](int level) {
      return std::partition_point(rows.begin(), rows.end(),
                                  [&](std::uint32_t row) { return levels_[row] < level; });
    };
    const auto at = first_of(highest);
    const auto above = first_of(highest + 1);
    const std::int64_t kept =
        sink_.keep_useful(query_, filter_.least_key(highest), std::span(at, above));
    return rows.first(static_cast<std::size_t>(at - rows.begin() + kept));
  }

  std::span<std::uint32_t> by_level(std::span<const std::uint32_t> rows, int low) {
    std::array<std::size_t, kMostLevel + 1> next{};
    for (const std::uint32_t row : rows) ++next[static_cast<std::size_t>(levels_[row] - low)];
    std::size_t place = 0;
    for (std::size_t& one : next) place += std::exchange(one, place);
    for (const std::uint32_t row : rows) {
      scratch_.sorted[next[static_cast<std::size_t>(levels_[row] - low)]++] = row;
    }
    return {scratch_.sorted.get(), rows.size()};
  }

  // The others, in the same memory of this query.
  std::span<std::uint32_t> without_sure_ones(std::span<std::uint32_t> rows) {
    Candidates& sure = scratch_.candidates;
    const double key = threshold();
    sure.start_keyed({{query_, query_ + 1}, {0, grid_.rows}}, grid_.most_block);
    std::size_t left = 0;
    for (const std::uint32_t row : rows) {
      if (filter_.surely_within(query_, row, key)) {
        sure.add(row, key);
      } else {
        rows[left++] = row;
      }
    }
    sure.end_query();
    allowed_.restrict(sure);
    if (sure.size() > 0) sink_.consume(sure, sure.keys());
    return rows.first(left);
  }

  bool run_block(std::span<std::uint32_t> rows) {
    Candidates& candidates = scratch_.candidates;
    if (grid_.keys_do_not_matter) rows = without_sure_ones(rows);
    if (!grid_.fixed_thresholds) rows = useful(rows);
    candidates.start_listed({{query_, query_ + 1}, {0, grid_.rows}}, grid_.most_block);
    for (const std::uint32_t row : rows) candidates.add(row);
    candidates.end_query();
    allowed_.restrict(candidates);
    const bool last = candidates.size() > left_;
    if (last) {
      ++scratch_.counts.cut;
      std::int64_t kept = 0;
      candidates.keep_if([&](std::int64_t, std::int64_t) { return kept++ < left_; });
    }
    verify();
    return !last;
  }

  void verify() {
    const std::int64_t count = scratch_.candidates.size();
    if (count == 0) return;
    left_ -= count;
    scratch_.counts.verified += count;
    const double most = threshold();
    make_room(scratch_.keys, static_cast<std::size_t>(count));
    verifier_.keys(scratch_.candidates, std::span(&most, 1), scratch_.keys, monitor_);
    sink_.consume(scratch_.candidates, scratch_.keys);
  }

  const RisingGrid& grid_;
  const RowSet& allowed_;
  const BoundFilter& filter_;
  const LevelKernels& kernels_;
  const Verifier& verifier_;
  Sink& sink_;
  const Monitor& monitor_;
  const std::int64_t query_;
  const std::uint8_t* const levels_;
  RisingScratch& scratch_;
  std::int64_t block_;
  std::int64_t left_;
};

bool asks(const RisingGrid& grid, std::int64_t query) {
  return grid.asking.empty() ||
         (grid.asking[static_cast<std::size_t>(query / 64)] >> (query % 64) & 1) != 0;
}

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
    if (asks(grid, query)) RisingQuery(steps, query, levels, scratch).run();
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
