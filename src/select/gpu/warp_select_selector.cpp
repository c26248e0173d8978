#include "select/gpu/warp_select_selector.hpp"

#include <array>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr std::array<CapacityModule, 3> kWarpSelectModules = {
    {{"warp_select_32", 32}, {"warp_select_128", 128}, {"warp_select_1024", 1024}}};

}  // namespace

void run_warps(const SelectJob& job, const CapacityModule& module, std::int64_t rows_a_block) {
  const auto [rows, cols, k, largest] = job.shape;
  job.queue.run({module.name, "warp_select"}, {divide_up(rows, rows_a_block), 1},
                {job.values, kSourceFloats, static_cast<std::uint32_t>(rows),
                 static_cast<std::uint32_t>(cols), std::uint32_t{largest},
                 static_cast<std::uint32_t>(k), job.items});
}

std::int64_t scratch_bytes_warp_select(const SelectShape& /*shape*/) { return 0; }

void run_warp_select(const SelectJob& job, Scratch& /*scratch*/) {
  const CapacityModule& module = module_for(kWarpSelectModules, job.shape.k);
  run_warps(job, module, job.queue.threads(module.name) / job.device.facts().warp);
}

}  // namespace nearfield
