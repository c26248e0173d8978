#include <nearfield/within.hpp>

#include <cmath>
#include <limits>

#include "core/float_environment.hpp"
#include "scan/range_sink.hpp"
#include "search/engine.hpp"

namespace nearfield {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A found row at its most: in a sink and in the result, both grown by doubling.
constexpr std::int64_t kBytesPerFound =
    2 * (sizeof(Neighbor) + sizeof(std::int64_t) + sizeof(double) + sizeof(float));

// The largest key whose reported value is within the radius; -infinity if there is none.
double largest_key(Metric metric, double radius) {
  switch (info(metric).reported) {
    case Reported::key:
      break;
    case Reported::similarity:
      return 0.0 - radius;
    case Reported::root: {
      if (radius < 0) return -kInfinity;
      // The square rounds, and a few keys around it share a root.
      double key = radius * radius;
      while (std::sqrt(key) > radius) key = std::nextafter(key, 0.0);
      while (key < kInfinity && std::sqrt(std::nextafter(key, kInfinity)) <= radius) {
        key = std::nextafter(key, kInfinity);
      }
      return key;
    }
  }
  return radius;
}

void append(Range batch, RangeSink& sink, Metric metric, const Monitor& monitor, Ranges& result) {
  const DefaultFloats floats;
  for (std::int64_t query = batch.begin; query < batch.end; ++query) {
    for (const Neighbor& neighbor : sink.finish(query)) {
      result.ids.push_back(neighbor.id);
      result.keys.push_back(neighbor.key);
      result.distances.push_back(static_cast<float>(reported_value(metric, neighbor.key)));
    }
    result.offsets.push_back(static_cast<std::int64_t>(result.ids.size()));
    monitor.check();
  }
}

}  // namespace

Ranges within(const RowSource& queries, const RowSource& base, const WithinOptions& options,
              const Context& context) {
  if (std::isnan(options.radius)) {
    fail(ErrorCode::invalid_argument, "the radius is a number, got NaN");
  }
  Engine engine(
      {queries, base, options.metric, options.filter, options.exclude_self, options.check_finite},
      context);
  engine.plan(sizeof(std::vector<Neighbor>),
              (queries.rows() + 1) * static_cast<std::int64_t>(sizeof(std::int64_t)),
              "all within the radius", Tuning());
  const Plan& plan = engine.plan();
  RangeBudget budget;
  if (context.memory_limit) {
    budget.most_found =
        (*context.memory_limit - plan.result_bytes - plan.working_bytes) / kBytesPerFound;
  }
  const DefaultFloats floats;
  const double bound = largest_key(options.metric, options.radius);
  return with_memory_errors(plan, [&] {
    Monitor monitor(context, plan.pairs);
    Ranges result;
    result.offsets.push_back(0);
    result.stats = engine.run(
        monitor, [&](Range batch) { return std::make_unique<RangeSink>(batch, bound, budget); },
        [&](Range batch, Sink& sink) {
          append(batch, static_cast<RangeSink&>(sink), options.metric, monitor, result);
        });
    result.exact = engine.exact();
    return result;
  });
}

}  // namespace nearfield
