// Which objects the others keep their distances to.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/metric_index.hpp>
#include <nearfield/object_metric.hpp>

#include "core/monitor.hpp"
#include "object/object_list.hpp"

namespace nearfield {

struct ChosenPivots {
  std::vector<std::int64_t> rows;  // in the order in which they say most
  double largest = 0;              // of the distances that were computed
  std::int64_t distances = 0;      // that choosing took
};

// Of these rows, `pool` or all of them. Depends on the seed and on nothing else that is random.
ChosenPivots choose_pivots(const ObjectMetric& metric, const ObjectList& objects,
                           std::span<const std::int64_t> rows, std::int64_t pool,
                           const PivotOptions& options, std::uint64_t seed, Isa isa,
                           const Monitor& monitor);

}  // namespace nearfield
