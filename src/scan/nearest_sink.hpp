#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <nearfield/results.hpp>

#include "core/infinity.hpp"
#include "scan/sink.hpp"

namespace nearfield {

// Where nothing was found.
inline constexpr Neighbor kNoNeighbor{kInfinity, std::numeric_limits<std::int64_t>::max()};

// What is kept of the rows that a query has met: the nearest,
struct OneNearest {
  static constexpr int kCount = 1;
  Neighbor nearest = kNoNeighbor;

  double threshold() const { return nearest.key; }
  void offer(const Neighbor& neighbor) { nearest = std::min(nearest, neighbor); }
  void offer(const Neighbor& neighbor, double /*second*/) { offer(neighbor); }
  void merge(const OneNearest& other) { offer(other.nearest); }
};

// or also how far the second is; infinity if there is none.
struct TwoNearest {
  static constexpr int kCount = 2;
  Neighbor nearest = kNoNeighbor;
  double second = kInfinity;

  double threshold() const { return second; }
  void offer(const Neighbor& neighbor) {
    if (neighbor < nearest) {
      second = nearest.key;
      nearest = neighbor;
    } else {
      second = std::min(second, neighbor.key);
    }
  }
  void offer(const Neighbor& neighbor, double other_second) {
    offer(neighbor);
    second = std::min(second, other_second);
  }
  void merge(const TwoNearest& other) { offer(other.nearest, other.second); }
};

// What TopKSink does for k = 1 and 2, in 16 or 24 bytes a query.
template <class Kept>
class NearestSink final : public TwoSidedSink {
 public:
  explicit NearestSink(Range queries)
      : queries_(queries), kept_(static_cast<std::size_t>(queries.size())) {}

  const Kept& of(std::int64_t query) const { return kept_[place(query)]; }

  TwoSidedSink* two_sided() override { return this; }
  bool one_set() const override { return true; }
  void thresholds(Range queries, std::span<double> out) const override {
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      out[static_cast<std::size_t>(query - queries.begin)] = of(query).threshold();
    }
  }
  void row_thresholds(Range rows, std::span<double> out) const override { thresholds(rows, out); }
  void consume(const Candidates& candidates, std::span<const double> keys) override {
    for_each_close(
        candidates, keys, [&](std::int64_t query) { return of(query).threshold(); },
        [&](std::int64_t query, double key, std::int64_t row) {
          kept_[place(query)].offer({key, row});
        });
  }
  void consume_turned(const Candidates& candidates, std::span<const double> keys) override {
    for_each_close(
        candidates, keys, [](std::int64_t) { return kInfinity; },
        [&](std::int64_t query, double key, std::int64_t row) {
          kept_[place(row)].offer({key, query});
        });
  }
  void take(const NearestKeys& keys) {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (keys.first(i) == NearestKeys::kNone) continue;
      const bool one = keys.second(i) == NearestKeys::kNone;
      kept_[i].offer({static_cast<double>(keys.first(i)), keys.id(i)},
                     one ? kInfinity : static_cast<double>(keys.second(i)));
    }
  }
  std::unique_ptr<Sink> twin() const override { return std::make_unique<NearestSink>(queries_); }
  void merge(Sink& twin, std::int64_t query) override {
    kept_[place(query)].merge(static_cast<NearestSink&>(twin).of(query));
  }

 private:
  std::size_t place(std::int64_t query) const {
    return static_cast<std::size_t>(query - queries_.begin);
  }

  Range queries_;
  std::vector<Kept> kept_;
};

// Of the rows that each query has met, and of the queries that each row has. A loop that looks from
// one side only fills that of the queries.
template <class Kept>
class BothSidesSink final : public TwoSidedSink, public NearestKeysSink {
 public:
  BothSidesSink(Range queries, Range rows) : of_queries_(queries), of_rows_(rows) {}

  const NearestSink<Kept>& of_queries() const { return of_queries_; }
  const NearestSink<Kept>& of_rows() const { return of_rows_; }

  TwoSidedSink* two_sided() override { return this; }
  NearestKeysSink* nearest_keys() override { return this; }
  int kept() const override { return Kept::kCount; }
  void take(const NearestKeys& of_queries, const NearestKeys& of_rows) override {
    of_queries_.take(of_queries);
    of_rows_.take(of_rows);
  }
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
  NearestSink<Kept> of_queries_;
  NearestSink<Kept> of_rows_;
};

}  // namespace nearfield
