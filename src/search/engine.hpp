// What every search over rows has in common: queries in batches, the base in chunks, each pair of
// them through the loop of scan/.
#pragma once

#include <functional>
#include <memory>
#include <new>

#include <nearfield/context.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/rows.hpp>
#include <nearfield/stats.hpp>

#include "core/fail.hpp"
#include "core/monitor.hpp"
#include "distance/kernels.hpp"
#include "filter/every_row.hpp"
#include "filter/row_set.hpp"
#include "scan/scan.hpp"
#include "search/plan.hpp"

namespace nearfield {

// What is searched, and which rows may be found. Looks at the caller's options.
struct SearchInput {
  const RowSource& queries;
  const RowSource& base;
  Metric metric;
  const RowFilter& filter;
  bool exclude_self;
  bool check_finite;
};

class Engine {
 public:
  // Checks what can be said without reading a row. Both must outlive it.
  Engine(const SearchInput& input, const Context& context);

  // Plans for a sink that takes so many bytes a query, and a result of so many.
  void plan(std::int64_t sink_bytes, std::int64_t result_bytes, std::string selector,
            const Tuning& tuning);
  const Plan& plan() const { return plan_; }

  using MakeSink = std::function<std::unique_ptr<Sink>(Range queries)>;
  using TakeSink = std::function<void(Range queries, Sink& sink)>;

  // For each batch of queries: a new sink, the whole base through it, and the full sink to `take`.
  // Ends the monitor.
  Stats run(Monitor& monitor, const MakeSink& make, const TakeSink& take);

  bool exact() const { return filter_.certified(); }

 private:
  void run_batch(Range batch, Sink& sink, Monitor& monitor);
  void check(MatrixView rows, std::int64_t first, std::string_view what,
             const Monitor& monitor) const;

  SearchInput input_;
  const Context& context_;
  const DistanceKernels& kernels_;
  RowSet allowed_ = RowSet::all();
  EveryRow filter_;
  Plan plan_;
  ScanCounts counts_;
};

// Calls run(); memory that the system refuses becomes an Error.
template <class Run>
auto with_memory_errors(const Plan& plan, const Run& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory_limit,
         "the system has no memory for {} bytes of results and {} of work: ask for fewer queries "
         "at a time or fewer results of each",
         plan.result_bytes, plan.working_bytes);
  }
}

}  // namespace nearfield
