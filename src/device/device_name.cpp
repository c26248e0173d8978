#include "device/device_name.hpp"

#include <algorithm>
#include <charconv>

#include "core/fail.hpp"

namespace nearfield {

DeviceName parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const auto* const known = std::find(kDeviceKinds.begin(), kDeviceKinds.end(), kind);
  DeviceName name{known != kDeviceKinds.end() ? *known : kCpu};
  bool valid = known != kDeviceKinds.end() || text == kCpu;
  if (valid && colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), name.index);
    valid = error == std::errc{} && end == number.data() + number.size() && name.index >= 0;
  }
  if (!valid) {
    fail(ErrorCode::invalid_argument,
         "'{}' names no device: there is cpu, and cuda or opencl, perhaps with a number: opencl:0",
         text);
  }
  return name;
}

bool on_device(const Context& context) {
  if (!context.device.empty() && parse_device(context.device).kind != kCpu) return true;
  if (context.device_memory_limit) {
    fail(ErrorCode::invalid_argument,
         "a limit of {} bytes on a device means nothing on the CPU: name a device, or leave it out",
         *context.device_memory_limit);
  }
  if (context.stream != 0) {
    fail(ErrorCode::invalid_argument,
         "a stream means nothing on the CPU: name the CUDA device it is of, or leave it out");
  }
  return false;
}

void check_on_cpu(const Context& context, std::string_view what) {
  if (on_device(context)) {
    fail(ErrorCode::unsupported, "{} does not run on devices, got device '{}': leave it out", what,
         context.device);
  }
}

}  // namespace nearfield
