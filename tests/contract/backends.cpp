#include "tests/contract/backends.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "device/device_name.hpp"
#include "tests/contract/isa_sweep.hpp"

namespace nearfield::contract {

std::vector<Backend> backends() {
  std::vector<Backend> all;
  for (const Isa isa : swept_isas()) all.push_back({std::string(to_string(isa)), forced(isa)});
  if (const char* const device = std::getenv("NEARFIELD_TEST_DEVICE")) {
    const DeviceName name = parse_device(device);
    Backend& backend = all.emplace_back(fmt::format("{}:{}", name.kind, name.index), Context());
    backend.context.device = device;
  }
  return all;
}

}  // namespace nearfield::contract
