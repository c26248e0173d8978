#include "device/cpu_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include <nearfield/isa.hpp>

#include "core/tasks.hpp"
#include "device/device_name.hpp"

namespace nearfield {
namespace {

// As the kernel tells it; AArch64 has none there.
std::string model_name() {
  constexpr std::string_view kField = "model name";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kField)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", kField.size());
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

// 0 where the system does not say.
std::int64_t physical_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(pages, 0) * std::max<std::int64_t>(page, 0);
}

}  // namespace

DeviceInfo cpu_device() {
  return {.id = std::string(kCpu),
          .name = model_name(),
          .driver = std::string(to_string(available_isas().back())),
          .memory = physical_memory(),
          .units = usable_cores(),
          .is_cpu = true};
}

}  // namespace nearfield
