#include "filter/gpu/first_thresholds.hpp"

#include <cmath>
#include <vector>

#include "core/infinity.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kBoundBytes = sizeof(float);
// Rows for each that is wanted: of fewer, a selection drops too little to pay.
constexpr std::int64_t kLeastRows = 4;

}  // namespace

std::int64_t FirstThresholds::bytes_of(const SelectShape& shape) const {
  return shape.rows * (shape.cols * kBoundBytes + shape.k * kItemBytes) +
         choose_selector(device_.facts(), shape).scratch_bytes(shape);
}

std::int64_t FirstThresholds::rows_of(std::int64_t queries, std::int64_t rows) const {
  while (rows >= kLeastRows * rank_) {
    if (bytes_of(shape_of(queries, rows)) <= most_bytes_) return rows;
    rows /= 2;
  }
  return 0;
}

bool FirstThresholds::lower(gpu::Queue& queue, const Block& block, const gpu::Buffer& terms,
                            std::span<double> thresholds) const {
  const SelectShape shape = shape_of(block.queries.size(), block.rows.size());
  std::vector<DeviceItem> first(static_cast<std::size_t>(shape.rows * rank_));
  Scratch scratch;
  try {
    const auto bounds = device_.allocate(shape.rows * shape.cols * kBoundBytes);
    const auto items = device_.allocate(shape.rows * rank_ * kItemBytes);
    const gpu::WaitAtEnd before_memory_ends(queue);
    finder_.bounds(queue, block, terms, *bounds);
    choose_selector(device_.facts(), shape).run({device_, queue, shape, *bounds, *items}, scratch);
    queue.read(*items, first.data());
    queue.wait();
  } catch (const gpu::OutOfMemory&) {
    return false;
  }
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const DeviceItem last = first[(i + 1) * static_cast<std::size_t>(rank_) - 1];
    if (last == kNoDeviceItem || thresholds[i] != kInfinity) continue;
    thresholds[i] = finder_.key_of_bound(value_of(last));
  }
  return true;
}

}  // namespace nearfield
