#include "select/gpu/radix_selector.hpp"

#include "select/gpu/selectors.hpp"

namespace nearfield {

const gpu::Buffer& place_rows(const SelectJob& job, Scratch& scratch) {
  const std::int64_t rows = job.shape.rows;
  gpu::Buffer& starts = *scratch.emplace_back(job.device.allocate((rows + 1) * kStartBytes));
  job.queue.run(
      {"row_starts", "row_starts"}, {rows / job.queue.threads("row_starts") + 1, 1},
      {starts, static_cast<std::uint32_t>(rows), static_cast<std::uint64_t>(job.shape.k)});
  return starts;
}

std::int64_t scratch_bytes_radix(const SelectShape& shape) {
  return shape.rows * kThresholdBytes + (shape.rows + 1) * kStartBytes +
         shape.rows * shape.k * kItemBytes;
}

void run_radix(const SelectJob& job, Scratch& scratch) {
  const auto [rows, cols, k, largest] = job.shape;
  const auto count = static_cast<std::uint32_t>(cols);
  const gpu::Buffer& starts = place_rows(job, scratch);
  const gpu::Buffer& thresholds =
      *scratch.emplace_back(job.device.allocate(rows * kThresholdBytes));
  gpu::Buffer& spare = *scratch.emplace_back(job.device.allocate(rows * k * kItemBytes));
  job.queue.fill(job.items, 0xFF);  // kNoDeviceItem, where there are fewer than k numbers
  job.queue.run({"radix", "radix_threshold"}, {rows, 1},
                {job.values, kSourceFloats, count, std::uint32_t{largest},
                 static_cast<std::uint32_t>(k), thresholds});
  job.queue.run({"radix", "gather"}, {rows, 1},
                {job.values, kSourceFloats, count, std::uint32_t{largest}, thresholds,
                 std::uint32_t{0}, starts, job.items});
  // They were gathered in the order of their places: the keys are all that is left to sort by.
  job.queue.run({"sort_rows", "sort_rows"}, {rows, 1},
                {job.items, spare, starts, std::uint32_t{32}});
}

}  // namespace nearfield
