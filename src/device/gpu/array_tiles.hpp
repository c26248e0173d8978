// Arrays of the caller's as kernels read them: a tile of rows at a time, where it is or copied.
#pragma once

#include <cstdint>
#include <memory>

#include "device/gpu/gpu.hpp"
#include "device/gpu/host_reads.hpp"
#include "device/placed.hpp"

namespace nearfield::gpu {

// Rows of bytes at a stride, in the memory of the host or of the device.
struct ByteRows {
  const std::byte* data;
  std::int64_t rows;
  std::int64_t bytes;  // of a row
  std::int64_t stride;
  bool on_device;
  std::uintptr_t stream;
};

template <class View>
ByteRows byte_rows(const Placed<View>& placed) {
  const View& view = placed.view;
  return {view.rows() > 0 ? view.row(0) : nullptr,
          view.rows(),
          row_bytes(view.dtype(), view.cols()),
          view.stride_bytes(),
          placed.on_device,
          placed.stream};
}

// Of what is in the memory of the host.
template <class View>
std::int64_t host_bytes(const Placed<View>& placed) {
  return placed.on_device ? 0
                          : placed.view.rows() * row_bytes(placed.view.dtype(), placed.view.cols());
}

// What a kernel asks of rows.
struct RowLayout {
  std::int64_t word = 1;  // bytes: rows begin at multiples, and are read to one, zeros at their end
  bool close = false;     // it takes no stride
};

// Rows [row, row + rows), and of each the bytes [byte, byte + bytes).
struct TilePlace {
  std::int64_t row;
  std::int64_t rows;
  std::int64_t byte;
  std::int64_t bytes;
};

struct ArrayTile {
  std::unique_ptr<Buffer> rows;
  std::int64_t stride;
};

class ArrayTiles {
 public:
  // What the queue is given from here on runs after what writes the array. host: of an array there.
  ArrayTiles(Device& device, Queue& queue, const ByteRows& array, RowLayout layout, HostReads host);
  ~ArrayTiles();
  ArrayTiles(const ArrayTiles&) = delete;
  ArrayTiles& operator=(const ArrayTiles&) = delete;

  // Of an array of the host, whether it is mapped: a device may refuse. Tiles that the layout does
  // not fit are copied all the same.
  bool maps_host() const { return memory_ != nullptr && !array_.on_device; }

  // What a tile takes of the device's memory.
  std::int64_t bytes(std::int64_t rows, std::int64_t row_bytes) const;

  // The queue may still have to fill it. Kept until it has read it.
  ArrayTile take(const TilePlace& place) const;
  ArrayTile take(std::int64_t row, std::int64_t rows) const {
    return take({row, rows, 0, array_.bytes});
  }

 private:
  bool in_place(std::int64_t rows, std::int64_t row_bytes) const;
  std::int64_t copied_stride(std::int64_t row_bytes) const;

  Device& device_;
  Queue& queue_;
  const ByteRows array_;
  const RowLayout layout_;
  std::unique_ptr<Memory> memory_;  // null where it is not read in place
};

}  // namespace nearfield::gpu
