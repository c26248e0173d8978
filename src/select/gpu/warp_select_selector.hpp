// Warp select and block select: one kernel, by one warp a row or by several.
#pragma once

#include <span>

#include "select/gpu/capacity_modules.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield {

// The first module that takes k, with so many rows a block.
void run_warps(const SelectJob& job, std::span<const CapacityModule> modules,
               std::int64_t rows_a_block);

}  // namespace nearfield
