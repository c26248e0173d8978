// What an index of objects is, for tests of its parts.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include <nearfield/object_metrics.hpp>

#include "core/monitor.hpp"
#include "core/random.hpp"
#include "index/pivot/metric_state.hpp"

namespace nearfield::test {

// Of vectors.
inline MetricState some_metric_state(const char* metric, const PivotOptions& options,
                                     std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  MetricState state(object_metric(metric), options);
  Random random(seed);
  std::vector<double> vector(static_cast<std::size_t>(cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (double& value : vector) value = random.uniform();
    state.objects.append(ObjectBytes<std::vector<double>>::bytes(vector));
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const Context context;
  Monitor monitor(context, rows);
  state.filter = ObjectFilter::made(*state.metric, state.objects, all, options, context, monitor,
                                    state.distances);
  return state;
}

}  // namespace nearfield::test
