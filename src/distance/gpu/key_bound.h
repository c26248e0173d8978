// A float32 that a key is not above: what a selection compares where rounding must not lose a row.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

// More than what a float32 loses of a number: 2^-24 of it, or a number that is too small for it.
NEARFIELD_INLINE float above(float x) { return x + (x < 0 ? -x : x) * 0x1p-22f + 1e-37f; }

// Infinity where a key is not finite: whether such a row counts at all is for others to say.
NEARFIELD_INLINE float bound_of(double key) {
  const double infinity = double_of(static_cast<u64>(0x7FF) << 52);
  return key > -infinity && key < infinity ? above(static_cast<float>(key)) : float_of(0x7F800000u);
}

}  // namespace nearfield::device
