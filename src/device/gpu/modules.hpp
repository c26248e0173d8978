// The modules of kernels that a plugin was built with: cmake/kernels.cmake makes the table.
#pragma once

#include <span>
#include <string_view>

namespace nearfield::gpu {

struct Module {
  std::string_view name;
  int warp;  // threads that run together, for which it was compiled
  std::string_view code;
};

std::span<const Module> modules();

}  // namespace nearfield::gpu
