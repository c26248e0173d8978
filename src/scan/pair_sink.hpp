#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "scan/found_budget.hpp"
#include "scan/sink.hpp"
#include "select/top_k.hpp"

namespace nearfield {

// In the order of Pairs.
struct KeyedPair {
  double key = 0;
  std::int64_t first = 0;
  std::int64_t second = 0;

  friend auto operator<=>(const KeyedPair&, const KeyedPair&) = default;
};

// What the two of a pair are called; each looks at the caller's memory, and is empty where they are
// called by their numbers. Of one set, the smaller id is the first.
struct PairIds {
  std::span<const std::int64_t> first = {};
  std::span<const std::int64_t> second = {};
  bool one_set = false;
};

// The pairs of a search, whichever query and thread they come from.
class PairCollection {
 public:
  using Admits = std::function<bool(double key)>;

  // Those that are admitted, whose keys are all at most the bound; the `most` closest of them, if
  // that is given. The budget is spent where it is not, and outlives this.
  PairCollection(double bound, Admits admits, std::optional<std::int64_t> most, FoundBudget& budget,
                 const PairIds& ids = {});

  // Bytes taken if only so many are kept.
  static std::int64_t bytes(std::int64_t most) {
    return TopK<KeyedPair>::most_held(most) * static_cast<std::int64_t>(sizeof(KeyedPair));
  }

  // A key above this is of no use. Falls as pairs come in.
  double bound() const { return bound_.load(std::memory_order_relaxed); }

  void take(const Candidates& candidates, std::span<const double> keys);

  // Sorted. Ends the collection.
  std::span<const KeyedPair> finish();

 private:
  KeyedPair named(double key, std::int64_t first, std::int64_t second) const;

  const Admits admits_;
  FoundBudget& budget_;
  const PairIds ids_;
  std::atomic<double> bound_;
  std::mutex mutex_;  // of what follows
  std::optional<TopK<KeyedPair>> closest_;
  std::vector<KeyedPair> all_;
};

// One query's part in the collection is no different from another's: every sink and every twin
// passes on to the same.
class PairSink final : public Sink {
 public:
  explicit PairSink(PairCollection& pairs) : pairs_(pairs) {}

  void thresholds(Range queries, std::span<double> out) const override;
  void consume(const Candidates& candidates, std::span<const double> keys) override {
    pairs_.take(candidates, keys);
  }
  std::unique_ptr<Sink> twin() const override { return std::make_unique<PairSink>(pairs_); }
  void merge(Sink& /*twin*/, std::int64_t /*query*/) override {}

 private:
  PairCollection& pairs_;
};

}  // namespace nearfield
