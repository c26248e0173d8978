#include <nearfield/match.hpp>

#include <algorithm>
#include <vector>

#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "search/both_ways.hpp"
#include "search/match_tests.hpp"
#include "search/pair_results.hpp"

namespace nearfield {
namespace {

class MatchSearch {
 public:
  MatchSearch(const RowSource& first, const RowSource& second, const MatchOptions& options,
              const Context& context)
      : options_(options),
        context_(context),
        tests_(options),
        ways_({first, &second, options.metric, options.check_finite,
               options.cross_check == CrossCheck::none ? Sides::first : Sides::both},
              kPairBytes, most_pairs(first, second, options) * kPairResultBytes,
              "two nearest of both sides", context) {}

  const Plan& plan() const { return ways_.plan(); }

  Pairs run() {
    const DefaultFloats floats;
    Monitor monitor(context_, plan().pairs);
    ways_.run(monitor);
    Pairs result;
    append_pairs(accepted(), options_.metric, monitor, result);
    if (options_.distance != MatchDistance::reported) {
      std::ranges::transform(result.keys, result.distances.begin(),
                             [&](double key) { return static_cast<float>(tests_.distance(key)); });
    }
    monitor.finish();
    result.exact = ways_.exact();
    result.stats = ways_.stats(monitor);
    return result;
  }

 private:
  static constexpr std::int64_t kPairBytes = 2 * sizeof(KeyedPair);  // they grow by doubling

  static std::int64_t most_pairs(const RowSource& first, const RowSource& second,
                                 const MatchOptions& options) {
    return options.cross_check == CrossCheck::none ? first.rows()
                                                   : std::min(first.rows(), second.rows());
  }

  std::vector<KeyedPair> accepted() const {
    std::vector<KeyedPair> pairs;
    for (std::int64_t row = 0; row < std::ssize(ways_.of_first()); ++row) {
      const TwoNearest& of_row = ways_.of_first()[static_cast<std::size_t>(row)];
      if (!tests_.pass(of_row) || !agrees(row, of_row.nearest.id)) continue;
      pairs.push_back({of_row.nearest.key, row, of_row.nearest.id});
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

  bool agrees(std::int64_t row, std::int64_t other) const {
    if (options_.cross_check == CrossCheck::none) return true;
    const TwoNearest& back = ways_.of_second()[static_cast<std::size_t>(other)];
    return back.nearest.id == row &&
           (options_.cross_check == CrossCheck::nearest || tests_.pass(back));
  }

  const MatchOptions& options_;
  const Context& context_;
  MatchTests tests_;
  BothWays<TwoNearest> ways_;
};

// Whatever its columns are: those who find no descriptors often have none of these either.
Pairs without_descriptors(const MatchOptions& options) {
  const MatchTests checked(options);
  Pairs none;
  none.exact = true;
  return none;
}

}  // namespace

CrossCheck parse_cross_check(std::string_view name) {
  if (name == "none") return CrossCheck::none;
  if (name == "nearest") return CrossCheck::nearest;
  if (name == "tested") return CrossCheck::tested;
  fail(ErrorCode::invalid_argument, "'{}' is no cross check: there are none, nearest and tested",
       name);
}

Pairs match(const RowSource& first, const RowSource& second, const MatchOptions& options,
            const Context& context) {
  if (first.rows() == 0 || second.rows() == 0) return without_descriptors(options);
  MatchSearch search(first, second, options, context);
  return with_memory_errors(search.plan(), "match fewer rows at a time",
                            [&] { return search.run(); });
}

Plan plan_match(const RowSource& first, const RowSource& second, const MatchOptions& options,
                const Context& context) {
  return MatchSearch(first, second, options, context).plan();
}

}  // namespace nearfield
