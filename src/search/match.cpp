#include <nearfield/match.hpp>

#include <algorithm>

#include "core/fail.hpp"
#include "search/both_ways.hpp"
#include "search/match_tests.hpp"

namespace nearfield {
namespace {

BothWays<TwoNearest> ways_of(const RowSource& first, const RowSource& second,
                             const MatchOptions& options, const Context& context) {
  check_match(options, first.dtype(), second.dtype());
  const bool one_way = options.cross_check == CrossCheck::none;
  return {
      {first, &second, options.metric, options.check_finite, one_way ? Sides::first : Sides::both},
      one_way ? "two nearest" : "two nearest of both sides",
      context};
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
  BothWays<TwoNearest> ways = ways_of(first, second, options, context);
  const auto agrees = [&](std::int64_t row, std::int64_t other) {
    if (options.cross_check == CrossCheck::none) return true;
    const TwoNearest& back = ways.of_second(other);
    return back.nearest.id == row &&
           (options.cross_check == CrossCheck::nearest || passes_tests(options, back));
  };
  return with_memory_errors(ways.plan(), "match fewer rows at a time", [&] {
    Pairs found = ways.run([&](std::int64_t row, const TwoNearest& kept) {
      return passes_tests(options, kept) && agrees(row, kept.nearest.id);
    });
    if (options.distance != MatchDistance::reported) {
      std::ranges::transform(found.keys, found.distances.begin(), sift_angle);
    }
    return found;
  });
}

Plan plan_match(const RowSource& first, const RowSource& second, const MatchOptions& options,
                const Context& context) {
  return ways_of(first, second, options, context).plan();
}

}  // namespace nearfield
