#include "scan/scan_listed.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// So that the last to end keeps the others waiting for a small part.
constexpr std::int64_t kTilesOfAMember = 2;

constexpr std::int64_t kListGrowth = 4;

// A query of a tile.
struct ListedQuery {
  RisingProgress progress;
  std::int64_t rows;  // to list next, at least
};

class ListedRun {
 public:
  ListedRun(const ListedScan& scan, const RisingSteps& steps)
      : scan_(scan),
        steps_(steps),
        grid_(steps.grid),
        next_(grid_.queries.begin),
        one_query_(grid_),
        scratch_(static_cast<std::size_t>(grid_.threads)) {
    one_query_.query_tile = 1;
    result_.pairs.resize(scan.listers.size());
  }

  ListedCounts run() {
    std::vector<std::unique_ptr<Background>> beside;
    for (std::size_t i = 0; i < scan_.listers.size(); ++i) {
      beside.push_back(std::make_unique<Background>([this, i] {
        for_each_tile(scan_.listers[i]->most_queries(),
                      [&](Range queries) { run_on_lister(i, queries); });
      }));
    }
    if (scan_.cpu) {
      for_each_tile(grid_.query_tile * grid_.threads, [&](Range queries) { run_on_cpu(queries); });
    }
    for (const auto& lister : beside) lister->wait();
    for (const RisingScratch& worker : scratch_) add(worker.counts);
    return std::move(result_);
  }

 private:
  template <class Use>
  void for_each_tile(std::int64_t most, const Use& use) {
    const std::int64_t members = std::ssize(scan_.listers) + (scan_.cpu ? 1 : 0);
    const std::int64_t size = std::clamp<std::int64_t>(
        divide_up(grid_.queries.size(), kTilesOfAMember * members), 1, most);
    try {
      for (;;) {
        const std::int64_t first = next_.fetch_add(size);
        if (first >= grid_.queries.end) return;
        use(Range{first, std::min(first + size, grid_.queries.end)});
      }
    } catch (...) {
      next_ = grid_.queries.end;  // for the others
      throw;
    }
  }

  void run_on_cpu(Range queries) {
    RisingGrid grid = grid_;
    grid.queries = queries;
    const std::lock_guard lock(verifying_);
    const RisingCounts counts = scan_rising(grid, steps_.allowed, steps_.filter, steps_.kernels,
                                            steps_.verifier, steps_.sink, steps_.monitor);
    const std::lock_guard adding(adding_);
    add(counts);
  }

  void run_on_lister(std::size_t number, Range queries) {
    LevelLister& lister = *scan_.listers[number];
    std::vector<ListedQuery> tile(static_cast<std::size_t>(queries.size()),
                                  {RisingProgress(grid_), scan_.first_rows});
    for (std::int64_t i = 0; i < queries.size(); ++i) {
      tile[static_cast<std::size_t>(i)].progress.ended = !asks(grid_, queries.begin + i);
    }
    lister.start(queries);
    std::vector<std::uint32_t> counts;
    if (!grid_.fixed_thresholds) {
      counts.resize(tile.size() * kLevelCount);
      lister.count(counts);
    }
    const FallingKeys falling{scan_.first_rows,
                              [this](std::int64_t query) { return threshold(query); }};
    for (;;) {
      steps_.monitor.check();
      const std::vector<LevelRequest> requests = requests_of(lister, queries, counts, tile);
      if (requests.empty()) break;
      lister.list(requests, grid_.fixed_thresholds ? nullptr : &falling,
                  [&](const LevelList& list) {
                    if (lister.keyed()) {
                      take_keyed(list, queries, tile);
                    } else {
                      take_listed(list, queries, tile);
                    }
                    steps_.monitor.check();
                  });
    }
    finish(number, queries);
  }

  double threshold(std::int64_t query) const {
    double threshold = 0;
    steps_.sink.thresholds({query, query + 1}, std::span(&threshold, 1));
    return threshold;
  }

  // Of those that have not ended.
  std::vector<LevelRequest> requests_of(const LevelLister& lister, Range queries,
                                        std::span<const std::uint32_t> counts,
                                        std::vector<ListedQuery>& tile) const {
    // A CPU whose thresholds fall is given what it would look at without a lister, so that it
    // verifies the same.
    const bool later =
        steps_.allowed.meets() == Meets::later_rows && (lister.keyed() || grid_.fixed_thresholds);
    std::vector<LevelRequest> requests;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      RisingProgress& progress = tile[i].progress;
      if (progress.ended) continue;
      const std::int64_t query = queries.begin + static_cast<std::int64_t>(i);
      const double most = threshold(query);
      const int highest = std::min(steps_.filter.highest_level(most), kMostLevel);
      progress.ended = progress.low > highest;
      if (progress.ended) continue;
      int high = highest;
      if (!grid_.fixed_thresholds) {
        const auto of_level = counts.subspan(i * kLevelCount, kLevelCount);
        high = level_for(of_level, progress.low, std::max(progress.needed, progress.low), highest,
                         tile[i].rows);
      }
      requests.push_back({query, progress.low, high, most, later ? query + 1 : 0});
    }
    return requests;
  }

  // The first level up to which there are `rows`, which then are as many as come next.
  static int level_for(std::span<const std::uint32_t> counts, int low, int least, int highest,
                       std::int64_t& rows) {
    int high = std::min(least, highest);
    const auto first = counts.begin() + low;
    std::int64_t count = std::accumulate(first, counts.begin() + high + 1, std::int64_t{0});
    while (high < highest && count < rows) count += counts[static_cast<std::size_t>(++high)];
    rows = kListGrowth * std::max(rows, count);
    return high;
  }

  static ListedQuery& query_of(const LevelRequest& request, Range queries,
                               std::vector<ListedQuery>& tile) {
    return tile[static_cast<std::size_t>(request.query - queries.begin)];
  }

  // One lister's at a time, on all threads.
  void take_listed(const LevelList& list, Range queries, std::vector<ListedQuery>& tile) {
    const std::lock_guard lock(verifying_);
    run_tasks(std::ssize(list.requests), grid_.threads, [&](std::int64_t task, int worker) {
      const DefaultFloats floats;
      const auto i = static_cast<std::size_t>(task);
      const LevelRequest& request = list.requests[i];
      RisingScratch& scratch = scratch_[static_cast<std::size_t>(worker)];
      scratch.prepare(one_query_);
      const std::span<const std::uint32_t> rows = list.rows_of(i);
      const auto levels = list.levels.subspan(list.starts[i], rows.size());
      for (std::size_t j = 0; j < rows.size(); ++j) scratch.levels[rows[j]] = levels[j];
      RisingQuery(steps_, request.query, {scratch.levels.get(), rows, request.high}, scratch,
                  query_of(request, queries, tile).progress)
          .run();
    });
  }

  void take_keyed(const LevelList& list, Range queries, std::vector<ListedQuery>& tile) {
    Candidates candidates;
    for (std::size_t i = 0; i < list.requests.size(); ++i) {
      const LevelRequest& request = list.requests[i];
      const std::span<const std::uint32_t> rows = list.rows_of(i);
      candidates.start_keyed({{request.query, request.query + 1}, {0, grid_.rows}},
                             std::ssize(rows));
      for (std::size_t j = 0; j < rows.size(); ++j) {
        candidates.add(rows[j], list.keys[list.starts[i] + j]);
      }
      candidates.end_query();
      steps_.allowed.restrict(candidates);
      if (candidates.size() > 0) steps_.sink.consume(candidates, candidates.keys());
      query_of(request, queries, tile).progress.low = request.high + 1;
    }
    const std::lock_guard adding(adding_);
    result_.counts.verified += list.computed;
  }

  void finish(std::size_t number, Range queries) {
    std::int64_t pairs = 0;
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      pairs += steps_.allowed.pairs_in({{query, query + 1}, {0, grid_.rows}});
    }
    {
      const std::lock_guard adding(adding_);
      result_.counts.considered += pairs;
      result_.pairs[number] += pairs;
    }
    steps_.monitor.advance(pairs);
  }

  void add(const RisingCounts& counts) {
    result_.counts.considered += counts.considered;
    result_.counts.verified += counts.verified;
    result_.counts.cut += counts.cut;
  }

  const ListedScan& scan_;
  const RisingSteps& steps_;
  const RisingGrid& grid_;
  std::atomic<std::int64_t> next_;
  RisingGrid one_query_;
  std::vector<RisingScratch> scratch_;  // a thread's own
  std::mutex verifying_;                // guards it: the CPU has so many threads for all
  std::mutex adding_;                   // guards result_
  ListedCounts result_;
};

}  // namespace

ListedCounts scan_listed(const ListedScan& scan, const RisingSteps& steps) {
  return ListedRun(scan, steps).run();
}

}  // namespace nearfield
