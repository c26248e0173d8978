#include <algorithm>

#include "core/checked.hpp"
#include "select/gpu/radix_selector.hpp"

namespace nearfield {
namespace {

// Blocks that share a row: each of their threads has some items to copy.
std::int64_t blocks_for(std::int64_t count, const gpu::Queue& queue) {
  return std::clamp<std::int64_t>(divide_up(count, queue.threads("full_sort") * 8), 1, 1024);
}

}  // namespace

std::int64_t scratch_bytes_full_sort(const SelectShape& shape) {
  return 2 * shape.rows * shape.cols * kItemBytes + (shape.rows + 1) * kStartBytes;
}

void run_full_sort(const SelectJob& job, Scratch& scratch) {
  const auto [rows, cols, k, largest] = job.shape;
  const auto count = static_cast<std::uint32_t>(cols);
  const SelectJob of_all{job.device, job.queue, {rows, cols, cols, largest}, job.values, job.items};
  const gpu::Buffer& starts = place_rows(of_all, scratch);
  const gpu::Buffer& items = *scratch.emplace_back(job.device.allocate(rows * cols * kItemBytes));
  const gpu::Buffer& spare = *scratch.emplace_back(job.device.allocate(rows * cols * kItemBytes));
  job.queue.run({"full_sort", "make_items"}, {rows, blocks_for(cols, job.queue)},
                {job.values, kSourceFloats, count, std::uint32_t{largest}, items});
  // They are in the order of their places: the keys are all that is left to sort by.
  job.queue.run({"sort_rows", "sort_rows"}, {rows, 1}, {items, spare, starts, std::uint32_t{32}});
  job.queue.run({"full_sort", "take_first"}, {rows, blocks_for(k, job.queue)},
                {items, count, static_cast<std::uint32_t>(k), job.items});
}

}  // namespace nearfield
