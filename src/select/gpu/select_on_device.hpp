// select_k on a device.
#pragma once

#include <nearfield/context.hpp>
#include <nearfield/select.hpp>

#include "device/placed.hpp"

namespace nearfield {

struct DeviceSelector;

// The context names a device. selector: null for the fastest. The options are valid.
Selected select_on_device(const PlacedValues& values, const SelectOptions& options,
                          const Context& context, const DeviceSelector* selector = nullptr);

}  // namespace nearfield
