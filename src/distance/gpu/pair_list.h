// Pairs of a query and a row that kernels find, in no order.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

struct PairList {
  NEARFIELD_GLOBAL u32* count;  // of what was added, also where it found no room
  u32 most;
  NEARFIELD_GLOBAL u64* places;  // the query above, the row below

  // Its place, which is there if it is less than `most`.
  NEARFIELD_INLINE u32 add(u32 query, u32 row) const {
    const u32 at = add_to_global(count, 1);
    if (at < most) places[at] = static_cast<u64>(query) << 32 | row;
    return at;
  }
};

}  // namespace nearfield::device
