// What the rows of two sets are to each other: of each, the nearest one or two of the other set.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "scan/nearest_sink.hpp"
#include "search/engine.hpp"
#include "search/pair_results.hpp"

namespace nearfield {

// Which are asked.
enum class Sides {
  first,  // those of the first set alone
  both,
};

struct TwoSets {
  const RowSource& first;
  const RowSource* second;  // null: the first itself, of which no row meets itself
  MetricSpec metric;
  bool check_finite;
  Sides sides;
};

// `Kept`: OneNearest or TwoNearest. One pass serves both sides where both sets fit the memory and
// tiles can tell; else a second one goes back.
template <class Kept>
class BothWays {
 public:
  using Nearest = std::vector<Kept>;  // by the row's number

  BothWays(const TwoSets& sets, const std::string& selector, const Context& context)
      : one_set_(sets.second == nullptr),
        first_{0, sets.first.rows()},
        second_{0, one_set_ ? 0 : sets.second->rows()},
        sides_(sets.sides),
        metric_(sets.metric),
        context_(context),
        forward_({sets.first, one_set_ ? sets.first : *sets.second, sets.metric, every_row_,
                  one_set_ ? Meets::other_rows : Meets::every_row, sets.check_finite},
                 context) {
    plan(forward_, selector);
    plan_ = forward_.plan();
    if (one_set_ || sides_ == Sides::first) return;
    constexpr bool kCheckFinite = false;  // forward_ does, of both
    const SearchInput back{*sets.second, sets.first,       sets.metric,
                           every_row_,   Meets::every_row, kCheckFinite};
    plan(backward_.emplace(back, context), selector);
    plan_.pairs = checked_mul(plan_.pairs, 2, "pairs, from both sides");
    plan_.working_bytes = std::max(plan_.working_bytes, backward_->plan().working_bytes);
  }
  BothWays(const BothWays&) = delete;
  BothWays& operator=(const BothWays&) = delete;

  const Plan& plan() const { return plan_; }

  // Rows of the first set and their nearest, those that accepts(row, what is kept of it) takes, in
  // the order of Pairs.
  template <class Accepts>
  Pairs run(const Accepts& accepts) {
    const DefaultFloats floats;
    Monitor monitor(context_, plan_.pairs);
    look(monitor);
    std::vector<KeyedPair> pairs;
    for (std::int64_t row = 0; row < first_.size(); ++row) {
      const Kept& kept = of_first_[static_cast<std::size_t>(row)];
      if (kept.nearest == kNoNeighbor || !accepts(row, kept)) continue;
      pairs.push_back({kept.nearest.key, row, kept.nearest.id});
    }
    std::sort(pairs.begin(), pairs.end());
    Pairs result;
    append_pairs(pairs, metric_, monitor, result);
    monitor.finish();
    result.exact = forward_.exact() && (!backward_ || backward_->exact());
    result.stats = {plan_, stats_.pairs_considered, stats_.pairs_verified, monitor.seconds()};
    return result;
  }

  // Of what the rows of the second set met, for accepts; of one set, of the first.
  const Kept& of_second(std::int64_t row) const {
    return (one_set_ ? of_first_ : of_second_)[static_cast<std::size_t>(row)];
  }

 private:
  void look(Monitor& monitor) {
    of_first_.resize(static_cast<std::size_t>(first_.size()));
    of_second_.resize(static_cast<std::size_t>(sides_ == Sides::both ? second_.size() : 0));
    stats_ = look_from_first(monitor);
    plan_.filter = stats_.plan.filter;  // which may have been left to the rows
    plan_.note = stats_.plan.note;      // and a device may have failed
    const bool some = first_.size() > 0 && second_.size() > 0;
    if (backward_ && some && !forward_.served_both()) {
      const Stats back = look_from_second(monitor);
      stats_.pairs_considered += back.pairs_considered;
      stats_.pairs_verified += back.pairs_verified;
      if (back.plan.filter != plan_.filter) plan_.filter += "; back: " + back.plan.filter;
      if (!back.plan.note.empty() && back.plan.note != plan_.note) {
        plan_.note += (plan_.note.empty() ? "back: " : "; back: ") + back.plan.note;
      }
    }
  }

  std::int64_t most_pairs() const {
    if (one_set_) return first_.size() / 2;
    return sides_ == Sides::first ? first_.size() : std::min(first_.size(), second_.size());
  }

  // The same for either: what is known of both sides, and of the side that is looked from.
  void plan(Engine& engine, const std::string& selector) const {
    // In the sink, taken from it, and in the loop that fills it.
    constexpr std::int64_t kKeptBytes = 2 * sizeof(Kept) + NearestKeys::kBytes;
    constexpr std::int64_t kPairBytes = 3 * sizeof(KeyedPair);  // they grow by doubling
    const std::int64_t rows =
        checked_add(first_.size(), sides_ == Sides::both ? second_.size() : 0, "rows of both sets");
    engine.plan({.sink_of_a_query = sizeof(Kept),
                 .shared = checked_add(checked_mul(rows, kKeptBytes, "bytes of the nearest"),
                                       checked_mul(most_pairs(), kPairBytes, "bytes of pairs"),
                                       "bytes of both sides"),
                 .result = checked_mul(most_pairs(), kPairResultBytes, "bytes of the result"),
                 .threshold_rank = Kept::kCount,
                 .first_of_any = Kept::kCount},
                selector, default_tuning());
  }

  static void take(Range rows, const NearestSink<Kept>& sink, Nearest& nearest) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      nearest[static_cast<std::size_t>(row)] = sink.of(row);
    }
  }

  // Fills that of the second too, if one pass serves both.
  Stats look_from_first(Monitor& monitor) {
    const auto asks_both = [&](Range batch) {
      return backward_.has_value() && batch.size() == first_.size();
    };
    return forward_.run(
        monitor,
        [&](Range batch) -> std::unique_ptr<Sink> {
          if (asks_both(batch)) return std::make_unique<BothSidesSink<Kept>>(batch, second_);
          return std::make_unique<NearestSink<Kept>>(batch);
        },
        [&](Range batch, Sink& sink) {
          if (!asks_both(batch)) {
            take(batch, static_cast<NearestSink<Kept>&>(sink), of_first_);
            return;
          }
          auto& both = static_cast<BothSidesSink<Kept>&>(sink);
          take(batch, both.of_queries(), of_first_);
          if (forward_.served_both()) take(second_, both.of_rows(), of_second_);
        });
  }

  Stats look_from_second(Monitor& monitor) {
    return backward_->run(
        monitor, [&](Range batch) { return std::make_unique<NearestSink<Kept>>(batch); },
        [&](Range batch, Sink& sink) {
          take(batch, static_cast<NearestSink<Kept>&>(sink), of_second_);
        });
  }

  const bool one_set_;
  const Range first_;
  const Range second_;
  const Sides sides_;
  const MetricSpec metric_;
  const Context& context_;
  RowFilter every_row_;
  Engine forward_;
  std::optional<Engine> backward_;  // of two sets, where one pass does not serve both
  Plan plan_;
  Stats stats_;
  Nearest of_first_;
  Nearest of_second_;
};

}  // namespace nearfield
