// How a device finds pairs: by what is fastest.
#pragma once

#include <span>

#include "device/gpu/gpu.hpp"
#include "filter/device_filter.hpp"

namespace nearfield {

// Of the candidates, which apply and of which keys is one: the one that the search asks for, else
// as measured (device/tuning_in_use.hpp), else by the default rules.
DeviceMethod choose_method(const gpu::Facts& facts, const DeviceSearch& search,
                           std::span<const DeviceMethod> candidates);

}  // namespace nearfield
