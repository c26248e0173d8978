#include <nearfield/mutual.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "scan/nearest_sink.hpp"
#include "search/engine.hpp"
#include "search/pair_results.hpp"

namespace nearfield {
namespace {

// The nearest of each row, by its number.
using Nearest = std::vector<Neighbor>;

void take_nearest(Range rows, const NearestSink& sink, Nearest& nearest) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    nearest[static_cast<std::size_t>(row)] = sink.of(row);
  }
}

class MutualSearch {
 public:
  // Within the first set, if there is no second.
  MutualSearch(const RowSource& first, const RowSource* second, const MutualOptions& options,
               const Context& context)
      : one_set_(second == nullptr),
        first_{0, first.rows()},
        second_{0, second != nullptr ? second->rows() : 0},
        options_(options),
        context_(context),
        forward_({first, second != nullptr ? *second : first, options.metric, every_row_,
                  second != nullptr ? Meets::every_row : Meets::other_rows, options.check_finite},
                 context) {
    plan(forward_);
    plan_ = forward_.plan();
    if (one_set_) return;
    constexpr bool kCheckFinite = false;  // forward_ does, of both
    const SearchInput back{*second,          first,       options.metric, every_row_,
                           Meets::every_row, kCheckFinite};
    plan(backward_.emplace(back, context));
    plan_.pairs = checked_mul(plan_.pairs, 2, "pairs, from both sides");
    plan_.working_bytes = std::max(plan_.working_bytes, backward_->plan().working_bytes);
  }
  MutualSearch(const MutualSearch&) = delete;
  MutualSearch& operator=(const MutualSearch&) = delete;

  const Plan& plan() const { return plan_; }

  Pairs run() {
    const DefaultFloats floats;
    Monitor monitor(context_, plan_.pairs);
    Nearest of_first(static_cast<std::size_t>(first_.size()), NearestSink::kNone);
    Nearest of_second(static_cast<std::size_t>(second_.size()), NearestSink::kNone);
    Stats stats = look_from_first(monitor, of_first, of_second);
    plan_.filter = stats.plan.filter;  // which may have been left to the rows
    const bool some = first_.size() > 0 && second_.size() > 0;
    if (backward_ && some && !forward_.served_both()) {
      const Stats back = look_from_second(monitor, of_second);
      stats.pairs_considered += back.pairs_considered;
      stats.pairs_verified += back.pairs_verified;
      if (back.plan.filter != plan_.filter) plan_.filter += "; back: " + back.plan.filter;
    }
    Pairs result;
    append_pairs(agreeing(of_first, of_second), options_.metric, monitor, result);
    monitor.finish();
    result.exact = forward_.exact() && (!backward_ || backward_->exact());
    result.stats = {plan_, stats.pairs_considered, stats.pairs_verified, monitor.seconds()};
    return result;
  }

 private:
  // The same for either: what is known of both sides, and of the side that is looked from.
  void plan(Engine& engine) const {
    constexpr std::int64_t kNearestBytes = 2 * sizeof(Neighbor);  // in the sink, and taken from it
    constexpr std::int64_t kPairBytes = 2 * sizeof(KeyedPair);    // they grow by doubling
    const std::int64_t rows = checked_add(first_.size(), second_.size(), "rows of both sets");
    const std::int64_t most =
        one_set_ ? first_.size() / 2 : std::min(first_.size(), second_.size());
    engine.plan({.sink_of_a_query = sizeof(Neighbor),
                 .shared = checked_mul(rows, kNearestBytes + kPairBytes, "bytes of the nearest"),
                 .result = most * kPairResultBytes,
                 .threshold_rank = 1,
                 .first_of_any = 1},
                "nearest of both sides", default_tuning());
  }

  // Fills that of the second too, if one pass serves both.
  Stats look_from_first(Monitor& monitor, Nearest& of_first, Nearest& of_second) {
    const auto asks_both = [&](Range batch) { return !one_set_ && batch.size() == first_.size(); };
    return forward_.run(
        monitor,
        [&](Range batch) -> std::unique_ptr<Sink> {
          if (asks_both(batch)) return std::make_unique<BothSidesSink>(batch, second_);
          return std::make_unique<NearestSink>(batch);
        },
        [&](Range batch, Sink& sink) {
          if (!asks_both(batch)) {
            take_nearest(batch, static_cast<NearestSink&>(sink), of_first);
            return;
          }
          auto& both = static_cast<BothSidesSink&>(sink);
          take_nearest(batch, both.of_queries(), of_first);
          if (forward_.served_both()) take_nearest(second_, both.of_rows(), of_second);
        });
  }

  Stats look_from_second(Monitor& monitor, Nearest& of_second) {
    return backward_->run(
        monitor, [&](Range batch) { return std::make_unique<NearestSink>(batch); },
        [&](Range batch, Sink& sink) {
          take_nearest(batch, static_cast<NearestSink&>(sink), of_second);
        });
  }

  // Those whose nearest has them for its nearest, in the order of Pairs.
  std::vector<KeyedPair> agreeing(const Nearest& of_first, const Nearest& of_second) const {
    const Nearest& others = one_set_ ? of_first : of_second;
    std::vector<KeyedPair> pairs;
    for (std::int64_t row = 0; row < first_.size(); ++row) {
      const Neighbor& nearest = of_first[static_cast<std::size_t>(row)];
      if (nearest == NearestSink::kNone || (one_set_ && nearest.id < row)) continue;
      if (others[static_cast<std::size_t>(nearest.id)].id != row) continue;
      pairs.push_back({nearest.key, row, nearest.id});
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

  const bool one_set_;
  const Range first_;
  const Range second_;
  const MutualOptions& options_;
  const Context& context_;
  RowFilter every_row_;
  Engine forward_;
  std::optional<Engine> backward_;  // of two sets, where one pass does not serve both
  Plan plan_;
};

Pairs find(const RowSource& first, const RowSource* second, const MutualOptions& options,
           const Context& context) {
  MutualSearch search(first, second, options, context);
  return with_memory_errors(search.plan(), "search fewer rows at a time",
                            [&] { return search.run(); });
}

}  // namespace

Pairs mutual(const RowSource& first, const RowSource& second, const MutualOptions& options,
             const Context& context) {
  return find(first, &second, options, context);
}

Pairs mutual(const RowSource& rows, const MutualOptions& options, const Context& context) {
  return find(rows, nullptr, options, context);
}

Plan plan_mutual(const RowSource& first, const RowSource& second, const MutualOptions& options,
                 const Context& context) {
  return MutualSearch(first, &second, options, context).plan();
}

Plan plan_mutual(const RowSource& rows, const MutualOptions& options, const Context& context) {
  return MutualSearch(rows, nullptr, options, context).plan();
}

}  // namespace nearfield
