#include <algorithm>
#include <bit>

#include "select/gpu/partial_bitonic_selector.hpp"

namespace nearfield {
namespace {

constexpr gpu::Kernel kMergeQueue = {"merge_queue", "merge_queue"};
// Of a row: one a thread of merge_queue.cu, or more than it has.
constexpr std::int64_t kMostQueues = 32;
constexpr std::int64_t kShortest = 16;  // as there

std::int64_t length_of_queues(std::int64_t k) {
  return std::max(kShortest,
                  static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(k))));
}

}  // namespace

std::int64_t scratch_bytes_merge_queue(const SelectShape& shape) {
  return shape.rows * kMostQueues * length_of_queues(shape.k) * kItemBytes;
}

void run_merge_queue(const SelectJob& job, Scratch& scratch) {
  const auto [rows, cols, k, largest] = job.shape;
  const std::int64_t length = length_of_queues(k);
  const gpu::Buffer& queues =
      *scratch.emplace_back(job.device.allocate(scratch_bytes_merge_queue(job.shape)));
  job.queue.run(kMergeQueue, {rows, 1},
                {job.values, kSourceFloats, static_cast<std::uint32_t>(cols),
                 std::uint32_t{largest}, static_cast<std::uint32_t>(length), queues});
  sort_partially(job, queues, kSourceItems, job.queue.threads(kMergeQueue.module) * length, false);
}

}  // namespace nearfield
