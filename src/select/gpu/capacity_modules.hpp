// Modules of one kernel that differ in the most that k may be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace nearfield {

// As cmake/kernels.cmake builds them.
struct CapacityModule {
  const char* name;
  std::int64_t capacity;
};

// The smallest that takes k; the last takes the selector's most.
inline const CapacityModule& module_for(std::span<const CapacityModule> modules, std::int64_t k) {
  return *std::find_if(modules.begin(), modules.end() - 1,
                       [&](const CapacityModule& module) { return module.capacity >= k; });
}

}  // namespace nearfield
