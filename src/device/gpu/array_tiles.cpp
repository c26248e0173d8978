#include "device/gpu/array_tiles.hpp"

#include "core/checked.hpp"

namespace nearfield::gpu {
namespace {

// From the first byte of `rows` to the last.
std::int64_t extent(std::int64_t rows, std::int64_t bytes, std::int64_t stride) {
  return rows == 0 || bytes == 0 ? 0 : (rows - 1) * stride + bytes;
}

}  // namespace

ArrayTiles::ArrayTiles(Device& device, Queue& queue, const ByteRows& array, RowLayout layout,
                       HostReads host)
    : device_(device), queue_(queue), array_(array), layout_(layout) {
  const std::int64_t bytes = extent(array.rows, array.bytes, array.stride);
  if (bytes == 0) return;
  if (!array.on_device) {
    if (host == HostReads::mapped) memory_ = device.map(array.data, bytes);
    return;
  }
  memory_ = device.wrap(reinterpret_cast<std::uintptr_t>(array.data), bytes);
  if (array.stream != 0) queue.wait_for(array.stream);
}

// Memory is mapped until what is queued has read it, also where a call ends with an error.
ArrayTiles::~ArrayTiles() {
  if (!maps_host()) return;
  const WaitAtEnd read(queue_);
}

bool ArrayTiles::in_place(std::int64_t rows, std::int64_t row_bytes) const {
  if (memory_ == nullptr) return false;
  const std::int64_t word = layout_.word;
  const auto begin = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array_.data) %
                                               static_cast<std::uintptr_t>(word));
  const bool of_words = begin == 0 && array_.stride % word == 0 && row_bytes % word == 0;
  return of_words && (!layout_.close || rows <= 1 || array_.stride == row_bytes);
}

std::int64_t ArrayTiles::copied_stride(std::int64_t row_bytes) const {
  return round_up(row_bytes, layout_.word);
}

std::int64_t ArrayTiles::bytes(std::int64_t rows, std::int64_t row_bytes) const {
  return in_place(rows, row_bytes) ? 0 : rows * copied_stride(row_bytes);
}

ArrayTile ArrayTiles::take(const TilePlace& place) const {
  const std::int64_t begin = place.row * array_.stride + place.byte;
  const std::int64_t length = extent(place.rows, place.bytes, array_.stride);
  if (in_place(place.rows, place.bytes)) {
    return {memory_->part(begin, length), array_.stride};
  }
  const std::int64_t stride = copied_stride(place.bytes);
  ArrayTile tile{device_.allocate(place.rows * stride), stride};
  if (length == 0) return tile;  // rows of no bytes have no memory either
  if (stride != place.bytes) queue_.fill(*tile.rows, 0);
  const CopiedRows rows{place.rows, place.bytes, array_.stride, stride};
  if (array_.on_device) {
    queue_.copy(*tile.rows, *memory_->part(begin, length), rows);
  } else {
    queue_.write(*tile.rows, array_.data + begin, rows);
  }
  return tile;
}

}  // namespace nearfield::gpu
