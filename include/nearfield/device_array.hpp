// Rows that are in the memory of a device already, and are read there.
#pragma once

#include <cstdint>
#include <variant>

#include <nearfield/matrix.hpp>

namespace nearfield {

// Of CUDA: memory of the card that Context::device names, or managed memory. Looks at it, as a
// MatrixView looks at the host's, and has the same limits.
struct DeviceArray {
  std::uintptr_t data = 0;  // the address there
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;          // bits, of `bits`
  std::int64_t stride_bytes = 0;  // 0: rows lie close to each other

  // The cudaStream_t, as a number, in which it is written: what is in it when a call begins has run
  // before the call reads. 0: it is written already. CUDA's default stream is cudaStreamLegacy, 1.
  std::uintptr_t stream = 0;
};

// Of the host or of a device.
using AnyRows = std::variant<MatrixView, DeviceArray>;

}  // namespace nearfield
