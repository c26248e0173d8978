// The text by which a context names a device.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>

namespace nearfield {

inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::array<std::string_view, 2> kDeviceKinds = {"cuda", "opencl"};

struct DeviceName {
  std::string_view kind;  // one of kDeviceKinds, or kCpu
  int index = 0;
};

// "cpu", "opencl", "opencl:1". Throws invalid_argument with what there is.
DeviceName parse_device(std::string_view text);

// "opencl:0,opencl:1,cpu": each once.
std::vector<std::string_view> split_devices(std::string_view text);

// Throws invalid_argument for a text that names no device, and for what only a device has where
// there is none.
void check_devices(const Context& context);

// Whether work is for another device than the CPU, or for several. Throws as check_devices.
bool on_device(const Context& context);

// Throws unsupported where it is: `what` has no kernels for devices.
void check_on_cpu(const Context& context, std::string_view what);

// Throws unsupported where it is for several: `what` runs on one.
void check_one_device(const Context& context, std::string_view what);

}  // namespace nearfield
