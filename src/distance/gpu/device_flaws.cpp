#include <algorithm>
#include <memory>

#include "core/checked.hpp"
#include "device/gpu/array_tiles.hpp"
#include "device/gpu/open.hpp"
#include "distance/device_keys.hpp"

namespace nearfield {
namespace {

// flaws.cu knows types by number.
static_assert(static_cast<int>(DType::f64) == 0 && static_cast<int>(DType::f32) == 1 &&
              static_cast<int>(DType::f16) == 2 && static_cast<int>(DType::bf16) == 3 &&
              static_cast<int>(DType::bits) == 6);
constexpr std::int64_t kFlagBytes = sizeof(std::uint32_t);
// Looked at between two looks at the monitor.
constexpr std::int64_t kBatchBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostRows = 1 << 16;

}  // namespace

std::int64_t device_flaws_bytes(const PlacedRows& rows) {
  return rows.on_device ? std::min(rows.view.rows(), kMostRows) * kFlagBytes : 0;
}

std::vector<bool> device_flaws(const PlacedRows& rows, const Context& context,
                               const Monitor& monitor) {
  const MatrixView view = rows.view;  // for its shape
  const std::int64_t bytes = row_bytes(view.dtype(), view.cols());
  gpu::Device& device = gpu::open_device(context.device).device;
  std::vector<std::uint32_t> found;  // outlives the queue, which writes there
  const auto queue = device.make_queue(context.stream);
  const gpu::ArrayTiles tiles(device, *queue, gpu::byte_rows(rows), {}, gpu::HostReads::copied);
  const std::int64_t limit = context.device_memory_limit.value_or(device.facts().memory);
  std::int64_t batch =
      std::clamp<std::int64_t>(std::min({limit / (tiles.bytes(1, bytes) + kFlagBytes),
                                         kBatchBytes / (bytes + kFlagBytes), kMostRows}),
                               1, std::max<std::int64_t>(view.rows(), 1));
  std::vector<bool> all;
  found.resize(static_cast<std::size_t>(batch));
  while (std::ssize(all) < view.rows()) {
    monitor.check();
    const std::int64_t first = std::ssize(all);
    const std::int64_t count = std::min(batch, view.rows() - first);
    try {
      const gpu::ArrayTile tile = tiles.take(first, count);
      const auto flags = device.allocate(count * kFlagBytes);
      queue->run({"flaws", "flaws"}, {count, 1},
                 {*tile.rows, static_cast<std::uint64_t>(tile.stride),
                  static_cast<std::uint32_t>(view.cols()), static_cast<std::uint32_t>(view.dtype()),
                  *flags});
      queue->read(*flags, found.data());
      queue->wait();
      all.insert(all.end(), found.begin(), found.begin() + count);
    } catch (const gpu::OutOfMemory&) {
      if (batch == 1) throw;
      batch = divide_up(batch, 2);  // these rows again
    }
  }
  return all;
}

}  // namespace nearfield
