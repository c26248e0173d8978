// Values as they are stored, read as float32: of the types that products are made of.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

// As DType; distance/gpu/product_step.cpp proves it.
enum Stored : u32 { kF32 = 1, kF16 = 2, kU8 = 4, kI8 = 5 };

NEARFIELD_INLINE float stored_float(NEARFIELD_GLOBAL const u8* row, u32 i, u32 stored) {
  switch (stored) {
    case kF32:
      return reinterpret_cast<NEARFIELD_GLOBAL const float*>(row)[i];
    case kF16:
      return float_of(reinterpret_cast<NEARFIELD_GLOBAL const f16*>(row)[i]);
    case kU8:
      return row[i];
    default:
      return static_cast<i8>(row[i]);
  }
}

}  // namespace nearfield::device
