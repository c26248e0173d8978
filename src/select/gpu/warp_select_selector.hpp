// Warp select and block select: one kernel, by one warp a row or by several.
#pragma once

#include <array>

#include "select/gpu/selectors.hpp"

namespace nearfield {

// As cmake/kernels.cmake builds them.
struct WarpModule {
  const char* name;
  std::int64_t capacity;
};
using WarpModules = std::array<WarpModule, 3>;

// The first module that takes k, with so many rows a block.
void run_warps(const SelectJob& job, const WarpModules& modules, std::int64_t rows_a_block);

}  // namespace nearfield
