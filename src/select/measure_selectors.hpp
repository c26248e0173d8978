// How long each selection of a device takes.
#pragma once

#include <optional>
#include <span>

#include <nearfield/context.hpp>

#include "core/monitor.hpp"
#include "device/tuning_table.hpp"

namespace nearfield {

// Of those that take its k, on values that the device has already: at least queries x rows are
// given. Throws unsupported where one selects otherwise than the CPU. Empty where the device has no
// memory for one of them, or its limit is lower.
std::optional<TuningPoint> measure_selectors(const TuningShape& shape,
                                             std::span<const float> values, const Context& context,
                                             const Monitor& monitor);

}  // namespace nearfield
