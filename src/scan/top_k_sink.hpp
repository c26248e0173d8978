#pragma once

#include <memory>
#include <span>
#include <vector>

#include "scan/sink.hpp"
#include "select/top_k.hpp"

namespace nearfield {

// What a search asks beside k; each looks at the caller's memory and is empty or has an entry for
// every query or row of the search.
struct TopKRules {
  std::span<const Neighbor> after = {};  // of a query: only what follows in the total order is kept
  std::span<const double> limits = {};   // of a query: no key above it is kept
  std::span<const std::int64_t> ids = {};  // of a row: stands for it
};

// The k nearest rows of each query.
class TopKSink final : public TwoSidedSink {
 public:
  TopKSink(Range queries, std::int64_t k, const TopKRules& rules = {});

  // Bytes a query takes.
  static std::int64_t bytes_per_query(std::int64_t k);

  void thresholds(Range queries, std::span<double> out) const override;
  std::int64_t keep_useful(std::int64_t query, double least_key,
                           std::span<std::uint32_t> rows) const override;
  void consume(const Candidates& candidates, std::span<const double> keys) override;
  // Not of one with rules: rows that ask have none.
  TwoSidedSink* two_sided() override {
    return rules_.after.empty() && rules_.limits.empty() && rules_.ids.empty() ? this : nullptr;
  }
  bool one_set() const override { return true; }
  void row_thresholds(Range rows, std::span<double> out) const override { thresholds(rows, out); }
  void consume_turned(const Candidates& candidates, std::span<const double> keys) override;

  std::unique_ptr<Sink> twin() const override;
  void merge(Sink& twin, std::int64_t query) override;

  // Sorted; ends the stream of this query.
  std::span<const Neighbor> finish(std::int64_t query) { return of(query).finish(); }

 private:
  void prefetch_turned(const Candidates& candidates, std::int64_t number) const;
  TopK<Neighbor>& of(std::int64_t query) {
    return best_[static_cast<std::size_t>(query - queries_.begin)];
  }
  const TopK<Neighbor>& of(std::int64_t query) const {
    return best_[static_cast<std::size_t>(query - queries_.begin)];
  }

  Range queries_;
  std::int64_t k_;
  TopKRules rules_;
  std::vector<TopK<Neighbor>> best_;
};

}  // namespace nearfield
