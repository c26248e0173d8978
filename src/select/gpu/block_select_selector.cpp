#include <array>

#include "select/gpu/warp_select_selector.hpp"

namespace nearfield {
namespace {

constexpr std::array<CapacityModule, 3> kBlockSelectModules = {
    {{"block_select_32", 32}, {"block_select_128", 128}, {"block_select_1024", 1024}}};

}  // namespace

std::int64_t scratch_bytes_block_select(const SelectShape& /*shape*/) { return 0; }

void run_block_select(const SelectJob& job, Scratch& /*scratch*/) {
  run_warps(job, module_for(kBlockSelectModules, job.shape.k), 1);
}

}  // namespace nearfield
