// Metrics whose distances devices compute, too.
#pragma once

#include <cstdint>

#include <nearfield/object_metric.hpp>

namespace nearfield {

// Those whose arithmetic has the same bits everywhere: sums, quotients and roots of float64, and
// whole numbers. A power or an arc tangent has not.
enum class DeviceDistance : std::uint8_t { none, largest_difference, l1, l2, edit };

DeviceDistance device_distance(const ObjectMetric& metric);

}  // namespace nearfield
