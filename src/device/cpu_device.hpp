#pragma once

#include <nearfield/device.hpp>

namespace nearfield {

// This CPU, as one of devices().
DeviceInfo cpu_device();

}  // namespace nearfield
