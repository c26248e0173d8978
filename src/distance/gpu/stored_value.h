// Values as they are stored, read as float64.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

// As DType; distance/gpu/key_step.cpp proves it.
enum Stored : u32 { kF64, kF32, kF16, kBf16, kU8, kI8, kBits };

struct Rows {
  NEARFIELD_GLOBAL const u8* bytes;
  u64 stride;  // bytes
  u32 count;
  u32 width;  // values; of bits, bytes, a multiple of 8
  u32 stored;
};

NEARFIELD_INLINE double stored_value(NEARFIELD_GLOBAL const u8* row, u32 i, u32 stored) {
  switch (stored) {
    case kF64:
      return reinterpret_cast<NEARFIELD_GLOBAL const double*>(row)[i];
    case kF32:
      return reinterpret_cast<NEARFIELD_GLOBAL const float*>(row)[i];
    case kF16:
      return float_of(reinterpret_cast<NEARFIELD_GLOBAL const f16*>(row)[i]);
    case kBf16: {
      const u32 upper = reinterpret_cast<NEARFIELD_GLOBAL const u16*>(row)[i];
      return float_of(upper << 16);
    }
    case kU8:
      return row[i];
    default:
      return static_cast<i8>(row[i]);
  }
}

}  // namespace nearfield::device
