// Rows of the host in the memory of a device, as the kernels of keys read them.
#pragma once

#include "core/checked.hpp"
#include "device/gpu/array_tiles.hpp"
#include "distance/gpu/key_step.hpp"

namespace nearfield {

inline gpu::ArrayTile copied_rows(gpu::Device& device, gpu::Queue& queue, MatrixView rows) {
  const gpu::ArrayTiles tiles(device, queue, gpu::byte_rows(PlacedRows{rows}),
                              KeyStep::layout(rows.dtype()), gpu::HostReads::copied);
  return tiles.take(0, rows.rows());
}

inline std::int64_t copied_row_bytes(DType dtype, std::int64_t cols) {
  return round_up(row_bytes(dtype, cols), KeyStep::layout(dtype).word);
}

}  // namespace nearfield
