// From the text a context has to a device.
#pragma once

#include <string>
#include <string_view>

#include "device/gpu/gpu.hpp"

namespace nearfield::gpu {

struct Opened {
  std::string id;  // "opencl:0"
  Device& device;
};

// "opencl" or "opencl:0"; opened by who asks first, and shared. Throws invalid_argument for a text
// that is no device's, unsupported for one that is not here; and where NEARFIELD_TUNING names a
// file that is of no use (device/tuning_in_use.hpp).
Opened open_device(std::string_view text);

}  // namespace nearfield::gpu
