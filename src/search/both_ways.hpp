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

  // Bytes that the caller keeps for each row, and of the result.
  BothWays(const TwoSets& sets, std::int64_t kept_bytes, std::int64_t result_bytes,
           std::string selector, const Context& context)
      : one_set_(sets.second == nullptr),
        first_{0, sets.first.rows()},
        second_{0, one_set_ ? 0 : sets.second->rows()},
        sides_(sets.sides),
        kept_bytes_(kept_bytes),
        result_bytes_(result_bytes),
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

  void run(Monitor& monitor) {
    of_first_.resize(static_cast<std::size_t>(first_.size()));
    of_second_.resize(static_cast<std::size_t>(sides_ == Sides::both ? second_.size() : 0));
    stats_ = look_from_first(monitor);
    plan_.filter = stats_.plan.filter;  // which may have been left to the rows
    const bool some = first_.size() > 0 && second_.size() > 0;
    if (backward_ && some && !forward_.served_both()) {
      const Stats back = look_from_second(monitor);
      stats_.pairs_considered += back.pairs_considered;
      stats_.pairs_verified += back.pairs_verified;
      if (back.plan.filter != plan_.filter) plan_.filter += "; back: " + back.plan.filter;
    }
  }

  // After a run.
  const Nearest& of_first() const { return of_first_; }
  // Of one set, the same.
  const Nearest& of_second() const { return one_set_ ? of_first_ : of_second_; }
  bool exact() const { return forward_.exact() && (!backward_ || backward_->exact()); }
  Stats stats(const Monitor& monitor) const {
    return {plan_, stats_.pairs_considered, stats_.pairs_verified, monitor.seconds()};
  }

 private:
  // The same for either: what is known of both sides, and of the side that is looked from.
  void plan(Engine& engine, const std::string& selector) const {
    constexpr std::int64_t kBytes = 2 * sizeof(Kept);  // in the sink, and taken from it
    const std::int64_t rows = checked_add(first_.size(), second_.size(), "rows of both sets");
    engine.plan({.sink_of_a_query = sizeof(Kept),
                 .shared = checked_mul(rows, kBytes + kept_bytes_, "bytes of the nearest"),
                 .result = result_bytes_,
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
  const std::int64_t kept_bytes_;
  const std::int64_t result_bytes_;
  RowFilter every_row_;
  Engine forward_;
  std::optional<Engine> backward_;  // of two sets, where one pass does not serve both
  Plan plan_;
  Stats stats_;
  Nearest of_first_;
  Nearest of_second_;
};

}  // namespace nearfield
