// Metrics whose distances devices compute, too.
#pragma once

#include <cstdint>

#include <nearfield/object_metric.hpp>

namespace nearfield {

// Those whose arithmetic has the same bits everywhere: sums, quotients and roots of float64, and
// whole numbers. A power or an arc tangent has not. Of a caller's metric, what it brings for
// devices: whether that has the same bits is looked at (compare_on_device.hpp).
enum class DeviceDistance : std::uint8_t { none, largest_difference, l1, l2, edit, callers };

DeviceDistance device_distance(const ObjectMetric& metric);

}  // namespace nearfield
