#include "select/gpu/bits_selector.hpp"

#include <array>

#include "select/gpu/capacity_modules.hpp"
#include "select/gpu/row_parts.hpp"

namespace nearfield {
namespace {

constexpr std::array<CapacityModule, 4> kBitsModules = {
    {{"bits_32", 32}, {"bits_128", 128}, {"bits_512", 512}, {"bits_2048", 2048}}};
constexpr std::int64_t kCountBytes = sizeof(std::uint32_t);

}  // namespace

std::int64_t scratch_bytes_bits(const SelectShape& shape) {
  const std::int64_t parts = parts_of(shape);
  return shape.rows * parts * kCountBytes +
         (parts > 1 ? shape.rows * parts * shape.k * kItemBytes : 0);
}

void run_bits(const SelectJob& job, Scratch& scratch) {
  run_bits_in_parts(job, parts_of(job.shape), scratch);
}

void run_bits_in_parts(const SelectJob& job, std::int64_t parts, Scratch& scratch) {
  const auto [rows, cols, k, largest] = job.shape;
  const CapacityModule& module = module_for(kBitsModules, k);
  const auto count = static_cast<std::uint32_t>(cols);
  const auto first = static_cast<std::uint32_t>(k);
  const gpu::Buffer& merges =
      *scratch.emplace_back(job.device.allocate(rows * parts * kCountBytes));
  const gpu::Buffer* found = &job.items;
  if (parts > 1) {
    found = scratch.emplace_back(job.device.allocate(rows * parts * k * kItemBytes)).get();
  }
  job.queue.run({module.name, "bits"}, {rows, parts},
                {job.values, kSourceFloats, count, std::uint32_t{largest}, first, *found, merges});
  if (parts > 1) {
    job.queue.run({module.name, "bits"}, {rows, 1},
                  {*found, kSourceItems, static_cast<std::uint32_t>(parts * k), std::uint32_t{0},
                   first, job.items, merges});
  }
}

}  // namespace nearfield
