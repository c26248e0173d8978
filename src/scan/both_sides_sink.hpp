#pragma once

#include "scan/top_k_sink.hpp"

namespace nearfield {

// The nearest row of each query and the nearest query of each row. A loop that looks from one side
// only fills that of the queries.
class BothSidesSink final : public TwoSidedSink {
 public:
  BothSidesSink(Range queries, Range rows) : of_queries_(queries, 1), of_rows_(rows, 1) {}

  TopKSink& of_queries() { return of_queries_; }
  TopKSink& of_rows() { return of_rows_; }

  TwoSidedSink* two_sided() override { return this; }
  bool one_set() const override { return false; }
  void thresholds(Range queries, std::span<double> out) const override {
    of_queries_.thresholds(queries, out);
  }
  void row_thresholds(Range rows, std::span<double> out) const override {
    of_rows_.thresholds(rows, out);
  }
  void consume(const Candidates& candidates, std::span<const double> keys) override {
    of_queries_.consume(candidates, keys);
  }
  void consume_turned(const Candidates& candidates, std::span<const double> keys) override {
    of_rows_.consume_turned(candidates, keys);
  }
  std::unique_ptr<Sink> twin() const override { return of_queries_.twin(); }
  void merge(Sink& twin, std::int64_t query) override { of_queries_.merge(twin, query); }

 private:
  TopKSink of_queries_;
  TopKSink of_rows_;
};

}  // namespace nearfield
