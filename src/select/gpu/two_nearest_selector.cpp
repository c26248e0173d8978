#include "select/gpu/row_parts.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield {
namespace {

constexpr gpu::Kernel kTwoNearest = {"two_nearest", "two_nearest"};

}  // namespace

std::int64_t scratch_bytes_two_nearest(const SelectShape& shape) {
  const std::int64_t parts = parts_of(shape);
  return parts > 1 ? shape.rows * parts * shape.k * kItemBytes : 0;
}

void run_two_nearest(const SelectJob& job, Scratch& scratch) {
  const auto [rows, cols, k, largest] = job.shape;
  const std::int64_t parts = parts_of(job.shape);
  const auto first = static_cast<std::uint32_t>(k);
  const gpu::Buffer* found = &job.items;
  if (parts > 1) {
    found = scratch.emplace_back(job.device.allocate(scratch_bytes_two_nearest(job.shape))).get();
  }
  job.queue.run(kTwoNearest, {rows, parts},
                {job.values, kSourceFloats, static_cast<std::uint32_t>(cols),
                 std::uint32_t{largest}, first, *found});
  if (parts > 1) {
    job.queue.run(kTwoNearest, {rows, 1},
                  {*found, kSourceItems, static_cast<std::uint32_t>(parts * k), std::uint32_t{0},
                   first, job.items});
  }
}

}  // namespace nearfield
