#include "select/gpu/sample_selector.hpp"

#include "select/gpu/radix_selector.hpp"

namespace nearfield {

std::int64_t scratch_bytes_sample(const SelectShape& shape) {
  return (shape.rows + 1) * kStartBytes + shape.rows * shape.cols * kItemBytes;
}

void run_sample(const SampleSelect& select, const SelectJob& job, Scratch& scratch) {
  const auto [rows, cols, k, largest] = job.shape;
  const gpu::Buffer& starts = place_rows(job, scratch);
  // All of a row may be in the bucket of the k-th. The sort needs k of them.
  const gpu::Buffer& spare = *scratch.emplace_back(job.device.allocate(rows * cols * kItemBytes));
  job.queue.fill(job.items, 0xFF);  // kNoDeviceItem, where there are fewer than k numbers
  job.queue.run({select.module, "sample"}, {rows, 1},
                {job.values, kSourceFloats, static_cast<std::uint32_t>(cols),
                 std::uint32_t{largest}, static_cast<std::uint32_t>(k), spare, job.items});
  job.queue.run({"sort_rows", "sort_rows"}, {rows, 1},
                {job.items, spare, starts, select.first_bit});
}

}  // namespace nearfield
