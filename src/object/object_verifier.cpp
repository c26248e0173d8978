#include "object/object_verifier.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/fail.hpp"
#include "core/infinity.hpp"

namespace nearfield {
void settle_distances(const ObjectMetric& metric, double limit, std::span<double> distances) {
  for (double& distance : distances) {
    const bool given_up = distance > limit;
    if (!(distance >= 0) || (std::isinf(distance) && !given_up)) {  // so written, it finds NaN
      fail(
          ErrorCode::invalid_argument,
          "the metric '{}' says {}, which is no distance: check_metric finds between which objects",
          metric.name(), distance);
    }
    distance += 0.0;
  }
}

void all_distances(const ObjectMetric& metric, ObjectView from, std::span<const ObjectView> to,
                   Isa isa, std::span<double> out, const Monitor& monitor) {
  constexpr auto kPiece = static_cast<std::size_t>(kDistancesAtOnce);
  for (std::size_t first = 0; first < to.size(); first += kPiece) {
    monitor.check();
    const std::size_t count = std::min(kPiece, to.size() - first);
    metric.distances(from, to.subspan(first, count), kInfinity, isa, out.subspan(first, count));
    settle_distances(metric, kInfinity, out.subspan(first, count));
  }
}

void ObjectVerifier::keys(const Candidates& candidates, std::span<const double> thresholds,
                          std::span<double> out, const Monitor& monitor) const {
  std::array<ObjectView, kDistancesAtOnce> objects;
  const Range queries = candidates.block().queries;
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const double limit = thresholds[static_cast<std::size_t>(query - queries.begin)];
    const std::int64_t count = candidates.count_of(query);
    for (std::int64_t first = 0; first < count; first += kDistancesAtOnce) {
      const auto some = static_cast<std::size_t>(std::min(kDistancesAtOnce, count - first));
      for (std::size_t i = 0; i < some; ++i) {
        objects[i] = rows_.view(candidates.row(query, first + static_cast<std::int64_t>(i)));
        __builtin_prefetch(objects[i].data());  // they are far from each other
      }
      metric_.distances(queries_[static_cast<std::size_t>(query)], std::span(objects).first(some),
                        limit, isa_, out.first(some));
      settle_distances(metric_, limit, out.first(some));
      out = out.subspan(some);
      monitor.check();
    }
  }
}

}  // namespace nearfield
