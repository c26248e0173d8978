#include "select/gpu/selectors.hpp"

namespace nearfield {

std::int64_t scratch_bytes_bits_in_memory(const SelectShape& shape) {
  return shape.rows * shape.k * kItemBytes;
}

void run_bits_in_memory(const SelectJob& job, Scratch& scratch) {
  const auto [rows, cols, k, largest] = job.shape;
  const gpu::Buffer& spare =
      *scratch.emplace_back(job.device.allocate(scratch_bytes_bits_in_memory(job.shape)));
  job.queue.run({"bits_in_memory", "bits_in_memory"}, {rows, 1},
                {job.values, kSourceFloats, static_cast<std::uint32_t>(cols),
                 std::uint32_t{largest}, static_cast<std::uint32_t>(k), job.items, spare});
}

}  // namespace nearfield
