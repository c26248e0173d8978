// What every search over rows has in common: queries in batches, the base in chunks, each pair of
// them through the loop of scan/.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <nearfield/context.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/rows.hpp>
#include <nearfield/stats.hpp>

#include "core/memory_errors.hpp"
#include "core/monitor.hpp"
#include "distance/kernels.hpp"
#include "filter/filter_maker.hpp"
#include "filter/row_set.hpp"
#include "scan/scan.hpp"
#include "search/matrix_verifier.hpp"
#include "search/plan.hpp"
#include "search/row_finder.hpp"

namespace nearfield {

// What is searched, and which rows may be found. Looks at the caller's options.
struct SearchInput {
  const RowSource& queries;
  const RowSource& base;
  MetricSpec metric;
  const RowFilter& filter;
  Meets meets;
  bool check_finite;
  const RowFinder* finder = nullptr;  // if an index brings one
};

class Engine {
 public:
  // Checks what can be said without reading a row. Both must outlive it.
  Engine(const SearchInput& input, const Context& context);

  // What a search keeps: bytes, and how many of the nearest.
  struct Keeps {
    std::int64_t sink_of_a_query = 0;
    std::int64_t shared = 0;  // by all queries
    std::int64_t result = 0;
    // A query's threshold is about the key of this rank among the rows it has met; of a radius,
    // which may find any number, a guess.
    std::int64_t threshold_rank = 10;
    // Of any rows, only the first so many by key and number can be found; 0: others too.
    std::int64_t first_of_any = 0;
  };
  void plan(const Keeps& keeps, std::string selector, const Tuning& tuning);
  const Plan& plan() const { return plan_; }

  // Pairs that are searched: all, or each once where both sides are one set.
  std::int64_t pairs() const;

  // How many results of so many bytes fit the memory limit beside the plan; empty: no limit.
  std::optional<std::int64_t> room_for(std::int64_t bytes_of_a_result) const;

  using MakeSink = std::function<std::unique_ptr<Sink>(Range queries)>;
  using TakeSink = std::function<void(Range queries, Sink& sink)>;

  // For each batch of queries: a new sink, the whole base through it, and the full sink to `take`.
  // Once.
  Stats run(Monitor& monitor, const MakeSink& make, const TakeSink& take);

  // After a run.
  bool exact() const { return exact_; }
  // The sink was two-sided and has heard from both sides.
  bool served_both() const { return served_both_; }

 private:
  std::int64_t first_of_any(const Keeps& keeps) const;
  void run_batch(Range batch, Sink& sink, Monitor& monitor);
  bool serves_both(const ScanGrid& grid, const Filter& filter, Sink& sink) const;
  // Answers how many rows of the chunk that were.
  std::int64_t run_chunk(const Piece& queries, const Piece& chunk, Sink& sink, Monitor& monitor);
  void expect_rows_after(std::int64_t first);
  void check(MatrixView rows, std::int64_t first, std::string_view what,
             const Monitor& monitor) const;

  SearchInput input_;
  const Context& context_;
  const DistanceKernels& kernels_;
  RowSet allowed_ = RowSet::all();
  std::unique_ptr<FilterMaker> filter_;
  bool exact_ = true;
  bool served_both_ = false;
  Plan plan_;
  std::int64_t first_row_tile_ = 1;
  ScanCounts counts_;
};

}  // namespace nearfield
