#include <algorithm>
#include <bit>

#include "select/gpu/partial_bitonic_selector.hpp"

namespace nearfield {
namespace {

// As merge_queue.cu has them.
constexpr std::int64_t kQueues = 32;  // a row
constexpr std::int64_t kShortest = 16;

std::int64_t length_of_queues(std::int64_t k) {
  return std::max(kShortest,
                  static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(k))));
}

}  // namespace

std::int64_t scratch_bytes_merge_queue(const SelectShape& shape) {
  return shape.rows * kQueues * length_of_queues(shape.k) * kItemBytes;
}

void run_merge_queue(const SelectJob& job, Scratch& scratch) {
  const auto [rows, cols, k, largest] = job.shape;
  const std::int64_t length = length_of_queues(k);
  const gpu::Buffer& queues =
      *scratch.emplace_back(job.device.allocate(scratch_bytes_merge_queue(job.shape)));
  job.queue.run({"merge_queue", "merge_queue"}, {rows, 1, static_cast<int>(kQueues)},
                {job.values, kSourceFloats, static_cast<std::uint32_t>(cols),
                 std::uint32_t{largest}, static_cast<std::uint32_t>(length), queues});
  sort_partially(job, queues, kSourceItems, kQueues * length, false);
}

}  // namespace nearfield
