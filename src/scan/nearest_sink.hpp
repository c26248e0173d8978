#pragma once

#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <nearfield/results.hpp>

#include "scan/sink.hpp"

namespace nearfield {

// The nearest row of each query: what TopKSink does for k = 1, in 16 bytes a query.
class NearestSink final : public TwoSidedSink {
 public:
  // Where nothing was found.
  static constexpr Neighbor kNone{std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<std::int64_t>::max()};

  explicit NearestSink(Range queries)
      : queries_(queries), nearest_(static_cast<std::size_t>(queries.size()), kNone) {}

  const Neighbor& of(std::int64_t query) const { return nearest_[place(query)]; }

  TwoSidedSink* two_sided() override { return this; }
  bool one_set() const override { return true; }
  void thresholds(Range queries, std::span<double> out) const override {
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      out[static_cast<std::size_t>(query - queries.begin)] = of(query).key;
    }
  }
  void row_thresholds(Range rows, std::span<double> out) const override { thresholds(rows, out); }
  void consume(const Candidates& candidates, std::span<const double> keys) override {
    for_each_close(
        candidates, keys, [&](std::int64_t query) { return of(query).key; },
        [&](std::int64_t query, double key, std::int64_t row) {
          offer(query, {key, row});
        });
  }
  void consume_turned(const Candidates& candidates, std::span<const double> keys) override {
    for_each_close(
        candidates, keys, [](std::int64_t) { return kNone.key; },
        [&](std::int64_t query, double key, std::int64_t row) {
          offer(row, {key, query});
        });
  }
  std::unique_ptr<Sink> twin() const override { return std::make_unique<NearestSink>(queries_); }
  void merge(Sink& twin, std::int64_t query) override {
    offer(query, static_cast<NearestSink&>(twin).of(query));
  }

 private:
  std::size_t place(std::int64_t query) const {
    return static_cast<std::size_t>(query - queries_.begin);
  }
  void offer(std::int64_t query, const Neighbor& neighbor) {
    Neighbor& nearest = nearest_[place(query)];
    if (neighbor < nearest) nearest = neighbor;
  }

  Range queries_;
  std::vector<Neighbor> nearest_;
};

// The nearest row of each query and the nearest query of each row. A loop that looks from one side
// only fills that of the queries.
class BothSidesSink final : public TwoSidedSink {
 public:
  BothSidesSink(Range queries, Range rows) : of_queries_(queries), of_rows_(rows) {}

  const NearestSink& of_queries() const { return of_queries_; }
  const NearestSink& of_rows() const { return of_rows_; }

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
  NearestSink of_queries_;
  NearestSink of_rows_;
};

}  // namespace nearfield
