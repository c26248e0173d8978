// The first two of some numbers.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

struct Two {
  u64 first;
  u64 second;
};

NEARFIELD_INLINE u64 smaller_of(u64 a, u64 b) { return a < b ? a : b; }
NEARFIELD_INLINE u64 larger_of(u64 a, u64 b) { return a < b ? b : a; }

NEARFIELD_INLINE Two first_two_of(Two a, Two b) {
  return {smaller_of(a.first, b.first),
          smaller_of(larger_of(a.first, b.first), smaller_of(a.second, b.second))};
}

}  // namespace nearfield::device
