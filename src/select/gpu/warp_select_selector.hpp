// Warp select and block select: one kernel, by one warp a row or by several.
#pragma once

#include "select/gpu/capacity_modules.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield {

void run_warps(const SelectJob& job, const CapacityModule& module, std::int64_t rows_a_block);

}  // namespace nearfield
