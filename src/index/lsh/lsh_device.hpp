// The filter of lsh on a device.
#pragma once

#include <cstdint>
#include <memory>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>

#include "filter/filter_maker.hpp"
#include "index/lsh/lsh_tables.hpp"

namespace nearfield {

// Queries of a block: a bit for each row and query is on the device.
inline constexpr std::int64_t kLshDeviceQueries = 64;

// The context names the device, one with float64. Projections, buckets and keys are those of the
// CPU, to the bit. Throws unsupported for sorted tables, memory_limit where rows and tables do not
// fit its limit. Looks at the run.
std::unique_ptr<FilterMaker> make_lsh_device_filter(const LshRun& run, std::int64_t probes,
                                                    MetricSpec metric, DType queries,
                                                    const Context& context);

}  // namespace nearfield
