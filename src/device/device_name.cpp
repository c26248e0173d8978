#include "device/device_name.hpp"

#include <algorithm>
#include <charconv>

#include "core/fail.hpp"

namespace nearfield {
namespace {

// Another than the CPU, or several.
bool names_device(const Context& context) {
  if (context.device.empty()) return false;
  const std::vector<std::string_view> names = split_devices(context.device);
  return names.size() > 1 || parse_device(names.front()).kind != kCpu;
}

}  // namespace

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

std::vector<std::string_view> split_devices(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const DeviceName device = parse_device(name);
    for (const std::string_view other : names) {
      const DeviceName before = parse_device(other);
      if (before.kind != device.kind || before.index != device.index) continue;
      fail(ErrorCode::invalid_argument, "'{}' names the device {} twice", text, name);
    }
    names.push_back(name);
    begin = end + 1;
  }
  return names;
}

void check_devices(const Context& context) {
  if (names_device(context)) return;
  if (context.device_memory_limit) {
    fail(ErrorCode::invalid_argument,
         "a limit of {} bytes on a device means nothing on the CPU: name a device, or leave it out",
         *context.device_memory_limit);
  }
  if (context.stream != 0) {
    fail(ErrorCode::invalid_argument,
         "a stream means nothing on the CPU: name the CUDA device it is of, or leave it out");
  }
}

bool on_device(const Context& context) {
  check_devices(context);
  return names_device(context);
}

void check_one_device(const Context& context, std::string_view what) {
  if (!context.device.empty() && split_devices(context.device).size() > 1) {
    fail(ErrorCode::unsupported, "{} runs on one device at a time, got '{}': name one of them",
         what, context.device);
  }
}

void check_on_cpu(const Context& context, std::string_view what) {
  if (on_device(context)) {
    fail(ErrorCode::unsupported, "{} does not run on devices, got device '{}': leave it out", what,
         context.device);
  }
}

}  // namespace nearfield
