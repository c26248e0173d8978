#pragma once

#include <memory>
#include <span>
#include <vector>

#include <nearfield/results.hpp>

#include "scan/found_budget.hpp"
#include "scan/sink.hpp"

namespace nearfield {

// Every row whose key is at most a bound.
class RangeSink final : public Sink {
 public:
  // The budget is shared, and outlives it. `ids` as of TopKSink.
  RangeSink(Range queries, double bound, FoundBudget& budget,
            std::span<const std::int64_t> ids = {});

  void thresholds(Range queries, std::span<double> out) const override;

  // Throws memory_limit when the budget is used up.
  void consume(const Candidates& candidates, std::span<const double> keys) override;

  std::unique_ptr<Sink> twin() const override;
  void merge(Sink& twin, std::int64_t query) override;

  // Sorted; ends the stream of this query.
  std::span<const Neighbor> finish(std::int64_t query);

 private:
  std::vector<Neighbor>& of(std::int64_t query) {
    return found_[static_cast<std::size_t>(query - queries_.begin)];
  }

  Range queries_;
  double bound_;
  FoundBudget& budget_;
  std::span<const std::int64_t> ids_;
  std::vector<std::vector<Neighbor>> found_;
};

}  // namespace nearfield
