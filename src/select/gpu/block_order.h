// Places for what some threads of a block have, in the order of the threads.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

struct Slot {
  u32 own;  // how many threads before this one have something
  u32 all;  // how many have, of the block
};

// totals: one a warp. All threads of the block come here.
NEARFIELD_INLINE Slot slot_in_order(bool has, NEARFIELD_SHARED u32* totals) {
  const u32 who = ballot(has);
  sync();  // of those before, all have read
  if (lane() == 0) totals[warp()] = ones(who);
  sync();
  Slot slot = {ones(who & ((1U << lane()) - 1)), 0};
  for (u32 w = 0; w < kWarps; ++w) {
    if (w < warp()) slot.own += totals[w];
    slot.all += totals[w];
  }
  return slot;
}

// The sum of those of the threads before this one; `sums` has as many.
NEARFIELD_INLINE u32 sum_before(u32 of_this, NEARFIELD_SHARED u32* sums) {
  u32 sum = of_this;
  for (u32 step = 1; step < kThreads; step *= 2) {
    sync();
    sums[thread()] = sum;
    sync();
    if (thread() >= step) sum += sums[thread() - step];
  }
  sync();
  return sum - of_this;
}

}  // namespace nearfield::device
