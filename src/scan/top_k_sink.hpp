#pragma once

#include <memory>
#include <span>
#include <vector>

#include "scan/sink.hpp"
#include "select/top_k.hpp"

namespace nearfield {

// The k nearest rows of each query.
class TopKSink final : public TwoSidedSink {
 public:
  // If `after` is not empty it has an entry for every query of the search, and only what follows
  // it in the total order is kept. `limits`, likewise, are keys above which nothing is kept.
  TopKSink(Range queries, std::int64_t k, std::span<const Neighbor> after = {},
           std::span<const double> limits = {});

  // Bytes a query takes.
  static std::int64_t bytes_per_query(std::int64_t k);

  void thresholds(Range queries, std::span<double> out) const override;
  void consume(const Candidates& candidates, std::span<const double> keys) override;
  // Not of one that goes on where another ended, or has limits: pairs then differ from side to
  // side.
  TwoSidedSink* two_sided() override { return after_.empty() && limits_.empty() ? this : nullptr; }
  bool one_set() const override { return true; }
  void row_thresholds(Range rows, std::span<double> out) const override { thresholds(rows, out); }
  void consume_turned(const Candidates& candidates, std::span<const double> keys) override;

  std::unique_ptr<Sink> twin() const override;
  void merge(Sink& twin, std::int64_t query) override;

  // Sorted; ends the stream of this query.
  std::span<const Neighbor> finish(std::int64_t query) { return of(query).finish(); }

 private:
  TopK<Neighbor>& of(std::int64_t query) {
    return best_[static_cast<std::size_t>(query - queries_.begin)];
  }
  const TopK<Neighbor>& of(std::int64_t query) const {
    return best_[static_cast<std::size_t>(query - queries_.begin)];
  }

  Range queries_;
  std::int64_t k_;
  std::span<const Neighbor> after_;
  std::span<const double> limits_;
  std::vector<TopK<Neighbor>> best_;
};

}  // namespace nearfield
