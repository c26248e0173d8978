#include <nearfield/mutual.hpp>

#include <algorithm>
#include <vector>

#include "core/float_environment.hpp"
#include "search/both_ways.hpp"
#include "search/pair_results.hpp"

namespace nearfield {
namespace {

class MutualSearch {
 public:
  // Within the first set, if there is no second.
  MutualSearch(const RowSource& first, const RowSource* second, const MutualOptions& options,
               const Context& context)
      : one_set_(second == nullptr),
        options_(options),
        context_(context),
        ways_({first, second, options.metric, options.check_finite, Sides::both}, kPairBytes,
              most_pairs(first, second) * kPairResultBytes, "nearest of both sides", context) {}

  const Plan& plan() const { return ways_.plan(); }

  Pairs run() {
    const DefaultFloats floats;
    Monitor monitor(context_, plan().pairs);
    ways_.run(monitor);
    Pairs result;
    append_pairs(agreeing(), options_.metric, monitor, result);
    monitor.finish();
    result.exact = ways_.exact();
    result.stats = ways_.stats(monitor);
    return result;
  }

 private:
  static constexpr std::int64_t kPairBytes = 2 * sizeof(KeyedPair);  // they grow by doubling

  static std::int64_t most_pairs(const RowSource& first, const RowSource* second) {
    return second == nullptr ? first.rows() / 2 : std::min(first.rows(), second->rows());
  }

  // Those whose nearest has them for its nearest, in the order of Pairs.
  std::vector<KeyedPair> agreeing() const {
    std::vector<KeyedPair> pairs;
    for (std::int64_t row = 0; row < std::ssize(ways_.of_first()); ++row) {
      const Neighbor& nearest = ways_.of_first()[static_cast<std::size_t>(row)].nearest;
      if (nearest == kNoNeighbor || (one_set_ && nearest.id < row)) continue;
      if (ways_.of_second()[static_cast<std::size_t>(nearest.id)].nearest.id != row) continue;
      pairs.push_back({nearest.key, row, nearest.id});
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

  const bool one_set_;
  const MutualOptions& options_;
  const Context& context_;
  BothWays<OneNearest> ways_;
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
