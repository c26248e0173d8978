// A row that several blocks read: each its part.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

// Part `block_y` of row `block_x`, of `blocks_y` parts.
struct PartOfRow {
  u32 begin;
  u32 end;
  u64 index;
};

NEARFIELD_INLINE PartOfRow part_of_row(u32 count) {
  const u32 size = count / blocks_y() + (count % blocks_y() != 0 ? 1 : 0);
  const u64 begin = static_cast<u64>(size) * block_y();
  const u64 end = begin + size;
  return {static_cast<u32>(begin < count ? begin : count),
          static_cast<u32>(end < count ? end : count),
          static_cast<u64>(block_x()) * blocks_y() + block_y()};
}

}  // namespace nearfield::device
