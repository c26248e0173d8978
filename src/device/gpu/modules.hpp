// The modules of kernels that a plugin was built with: cmake/kernels.cmake makes the table.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <nearfield/error.hpp>

namespace nearfield::gpu {

struct Module {
  std::string_view name;
  int warp;     // threads that run together, for which it was compiled
  int threads;  // of a block, likewise
  std::string_view code;
};

std::span<const Module> modules();

inline const Module& find_module(std::string_view name, int warp) {
  const auto all = modules();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Module& module) {
    return module.name == name && module.warp == warp;
  });
  if (found == all.end()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("there is no module {} of kernels for warps of {}", name, warp));
  }
  return *found;
}

}  // namespace nearfield::gpu
