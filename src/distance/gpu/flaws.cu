// Which rows hold what a vector must not: a NaN or an infinity, or bits beyond their columns. A
// block looks at a row. By integers alone: a device need not have float64.
#include "device/gpu/kernel_language.h"

namespace nearfield::device {

// As DType; distance/gpu/device_flaws.cpp proves it. Of other types there are no flaws.
enum Stored : u32 { kF64 = 0, kF32 = 1, kF16 = 2, kBf16 = 3, kBits = 6 };

template <class Word>
NEARFIELD_INLINE bool not_finite(NEARFIELD_GLOBAL const u8* row, u32 i, Word exponent) {
  return (reinterpret_cast<NEARFIELD_GLOBAL const Word*>(row)[i] & exponent) == exponent;
}

NEARFIELD_INLINE bool flawed(NEARFIELD_GLOBAL const u8* row, u32 i, u32 stored) {
  switch (stored) {
    case kF64:
      return not_finite<u64>(row, i, 0x7FF0000000000000);
    case kF32:
      return not_finite<u32>(row, i, 0x7F800000);
    case kF16:
      return not_finite<u16>(row, i, 0x7C00);
    default:
      return not_finite<u16>(row, i, 0x7F80);
  }
}

NEARFIELD_INLINE bool row_is_flawed(NEARFIELD_GLOBAL const u8* row, u32 width, u32 stored) {
  if (stored == kBits) return width % 8 != 0 && row[width >> 3] >> (width % 8) != 0;
  bool found = false;
  for (u32 i = thread(); i < width; i += kThreads) found = found || flawed(row, i, stored);
  return found;
}

}  // namespace nearfield::device

// found: one a row, 0 or 1.
NEARFIELD_KERNEL flaws(NEARFIELD_GLOBAL const nearfield::u8* rows, nearfield::u64 stride,
                       nearfield::u32 width, nearfield::u32 stored,
                       NEARFIELD_GLOBAL nearfield::u32* found) {
  const nearfield::u32 row = nearfield::device::block_x();
  const bool any = nearfield::device::sync_any(
      nearfield::device::row_is_flawed(rows + row * stride, width, stored));
  if (nearfield::device::thread() == 0) found[row] = any ? 1 : 0;
}
