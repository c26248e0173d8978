#include "search/within.hpp"

#include "core/float_environment.hpp"
#include "scan/range_sink.hpp"
#include "search/check_rows.hpp"
#include "search/engine.hpp"
#include "search/radius.hpp"

namespace nearfield {
namespace {

// A found row at its most: in a sink and in the result, both grown by doubling, one column of the
// result at the moment when it has its old place and its new one.
constexpr std::int64_t kBytesPerFoundRow =
    2 * (sizeof(Neighbor) + sizeof(std::int64_t) + sizeof(double) + sizeof(float)) + sizeof(float);

constexpr const char* kWithinAdvice = "search fewer queries at a time or a smaller radius";

void append(Range batch, RangeSink& sink, MetricSpec metric, const Radius& radius,
            const Monitor& monitor, Ranges& result) {
  const DefaultFloats floats;
  for (std::int64_t query = batch.begin; query < batch.end; ++query) {
    for (const Neighbor& neighbor : sink.finish(query)) {
      if (!radius.admits(neighbor.key)) continue;
      result.ids.push_back(neighbor.id);
      result.keys.push_back(neighbor.key);
      result.distances.push_back(static_cast<float>(reported_value(metric, neighbor.key)));
    }
    result.offsets.push_back(static_cast<std::int64_t>(result.ids.size()));
    monitor.check();
  }
}

Engine plan_search(const RowSource& queries, const RowSource& base, const WithinOptions& options,
                   const Context& context, const RowFinder* finder) {
  check_ids(options.ids, base.rows());
  Engine engine(
      {queries, base, options.metric, options.filter,
       options.exclude_self ? Meets::other_rows : Meets::every_row, options.check_finite, finder},
      context);
  engine.plan({.sink_of_a_query = sizeof(std::vector<Neighbor>),
               .result = (queries.rows() + 1) * static_cast<std::int64_t>(sizeof(std::int64_t))},
              "all within the radius", default_tuning());
  return engine;
}

Ranges answer_of(const RowSource& queries, const RowSource& base, const WithinOptions& options,
                 const Context& context, const RowFinder* finder) {
  Engine engine = plan_search(queries, base, options, context, finder);
  const Plan& plan = engine.plan();
  const DefaultFloats floats;
  const Radius radius(options.metric, options.radius);
  FoundBudget budget(engine.room_for(kBytesPerFoundRow), kWithinAdvice);
  return with_memory_errors(plan, kWithinAdvice, [&] {
    Monitor monitor(context, plan.pairs);
    Ranges result;
    result.offsets.push_back(0);
    result.stats = engine.run(
        monitor,
        [&](Range batch) {
          return std::make_unique<RangeSink>(batch, radius.largest_key(), budget, options.ids);
        },
        [&](Range batch, Sink& sink) {
          append(batch, static_cast<RangeSink&>(sink), options.metric, radius, monitor, result);
        });
    monitor.finish();
    result.exact = engine.exact();
    return result;
  });
}

}  // namespace

Ranges within(const RowSource& queries, const RowSource& base, const WithinOptions& options,
              const Context& context) {
  return answer_of(queries, base, options, context, nullptr);
}

Ranges within(const RowSource& queries, const RowSource& base, const WithinOptions& options,
              const Context& context, const RowFinder& finder) {
  return answer_of(queries, base, options, context, &finder);
}

Plan plan_within(const RowSource& queries, const RowSource& base, const WithinOptions& options,
                 const Context& context) {
  const Engine engine = plan_search(queries, base, options, context, nullptr);
  const Radius checked(options.metric, options.radius);
  return engine.plan();
}

}  // namespace nearfield
