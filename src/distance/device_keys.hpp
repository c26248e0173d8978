// Keys of many queries and rows, on a device.
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "core/monitor.hpp"

namespace nearfield {

// keys: queries x rows. Both of types that the metric reads, and of one width. keys_at_once: at
// most about so many between two looks at the monitor. The context names a device; its id is
// returned.
std::string device_keys(MatrixView queries, MatrixView rows, MetricSpec metric,
                        std::int64_t keys_at_once, const Context& context, Monitor& monitor,
                        double* keys);

}  // namespace nearfield
