#include <nearfield/pairs.hpp>

#include <algorithm>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/infinity.hpp"
#include "scan/pair_sink.hpp"
#include "search/engine.hpp"
#include "search/pair_results.hpp"
#include "search/radius.hpp"

namespace nearfield {
namespace {

// A found pair at its most: in the collection, grown by doubling, and in the result.
constexpr std::int64_t kBytesPerFoundPair = 2 * sizeof(KeyedPair) + kPairResultBytes;

// More than all of the above, so that no sum of bytes below overflows.
constexpr std::int64_t kMostBytesPerPair = 128;
static_assert(3 * sizeof(KeyedPair) + kPairResultBytes < kMostBytesPerPair);

constexpr const char* kPairsAdvice = "ask for a smaller radius or count";

class PairSearch {
 public:
  PairSearch(const RowSource& first, const RowSource& second, Meets meets,
             const PairsOptions& options, const Context& context)
      : options_(options),
        context_(context),
        engine_({first, second, options.metric, filter_, meets, options.check_finite}, context) {
    check_options();
    if (options.count) most_ = std::min(*options.count, engine_.pairs());
    const std::int64_t most = most_.value_or(0);
    checked_mul(most, kMostBytesPerPair, "bytes of the pairs");
    engine_.plan({.shared = PairCollection::bytes(most), .result = most * kPairResultBytes},
                 options.count ? "closest pairs" : "all pairs within the radius", default_tuning());
  }
  PairSearch(const PairSearch&) = delete;
  PairSearch& operator=(const PairSearch&) = delete;

  const Plan& plan() const { return engine_.plan(); }

  Pairs run() {
    const DefaultFloats floats;
    const Radius radius = given_radius();
    FoundBudget budget(engine_.room_for(kBytesPerFoundPair), kPairsAdvice);
    const auto admits = [&](double key) { return radius.admits(key); };
    PairCollection collection(radius.largest_key(), admits, most_, budget);
    Monitor monitor(context_, plan().pairs);
    Pairs result;
    result.stats = engine_.run(
        monitor, [&](Range) { return std::make_unique<PairSink>(collection); },
        [](Range, Sink&) {});
    append_pairs(collection.finish(), options_.metric, monitor, result);
    monitor.finish();
    result.exact = engine_.exact();
    return result;
  }

 private:
  void check_options() const {
    if (!options_.radius && !options_.count) {
      fail(ErrorCode::invalid_argument, "pairs needs a radius, a count, or both");
    }
    if (options_.count && *options_.count < 0) {
      fail(ErrorCode::invalid_argument, "the count of pairs is 0 or more, got {}", *options_.count);
    }
    given_radius();
  }

  Radius given_radius() const {
    const bool similarity = info(options_.metric).reported == Reported::similarity;
    return {options_.metric, options_.radius.value_or(similarity ? -kInfinity : kInfinity)};
  }

  const PairsOptions& options_;
  const Context& context_;
  RowFilter filter_;  // every row
  Engine engine_;
  std::optional<std::int64_t> most_;
};

Pairs run_search(PairSearch& search) {
  return with_memory_errors(search.plan(), kPairsAdvice, [&] { return search.run(); });
}

}  // namespace

Pairs pairs(const RowSource& rows, const PairsOptions& options, const Context& context) {
  PairSearch search(rows, rows, Meets::later_rows, options, context);
  return run_search(search);
}

Pairs pairs(const RowSource& first, const RowSource& second, const PairsOptions& options,
            const Context& context) {
  PairSearch search(first, second, Meets::every_row, options, context);
  return run_search(search);
}

Plan plan_pairs(const RowSource& rows, const PairsOptions& options, const Context& context) {
  return PairSearch(rows, rows, Meets::later_rows, options, context).plan();
}

Plan plan_pairs(const RowSource& first, const RowSource& second, const PairsOptions& options,
                const Context& context) {
  return PairSearch(first, second, Meets::every_row, options, context).plan();
}

}  // namespace nearfield
