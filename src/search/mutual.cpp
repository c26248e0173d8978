#include <nearfield/mutual.hpp>

#include "search/both_ways.hpp"

namespace nearfield {
namespace {

// Within the first set, if there is no second.
BothWays<OneNearest> ways_of(const RowSource& first, const RowSource* second,
                             const MutualOptions& options, const Context& context) {
  return {{first, second, options.metric, options.check_finite, Sides::both},
          "nearest of both sides",
          context};
}

Pairs run_mutual(const RowSource& first, const RowSource* second, const MutualOptions& options,
                 const Context& context) {
  BothWays<OneNearest> ways = ways_of(first, second, options, context);
  const bool one_set = second == nullptr;
  return with_memory_errors(ways.plan(), "search fewer rows at a time", [&] {
    return ways.run([&](std::int64_t row, const OneNearest& kept) {
      const std::int64_t other = kept.nearest.id;
      return !(one_set && other < row) && ways.of_second(other).nearest.id == row;
    });
  });
}

}  // namespace

Pairs mutual(const RowSource& first, const RowSource& second, const MutualOptions& options,
             const Context& context) {
  return run_mutual(first, &second, options, context);
}

Pairs mutual(const RowSource& rows, const MutualOptions& options, const Context& context) {
  return run_mutual(rows, nullptr, options, context);
}

Plan plan_mutual(const RowSource& first, const RowSource& second, const MutualOptions& options,
                 const Context& context) {
  return ways_of(first, &second, options, context).plan();
}

Plan plan_mutual(const RowSource& rows, const MutualOptions& options, const Context& context) {
  return ways_of(rows, nullptr, options, context).plan();
}

}  // namespace nearfield
