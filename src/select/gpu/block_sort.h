// Bitonic sorting of items in the registers of a block (seed: Hanák 2023, section 4.1).
//
// Thread t holds items t * kEach to t * kEach + kEach - 1, so that the steps a sort takes most
// often, the short ones, stay within a thread, the next within a warp, and only those between warps
// go through the memory of the block. All steps sort upwards: the first of each merge compares with
// the mirror image.
//
// Arrays are indexed by constants only: anything else would put them into local memory.
#pragma once

#include "select/gpu/items.h"

namespace nearfield::device {

template <u32 kEach_>
struct Items {
  static constexpr u32 kEach = kEach_;
  Item at[kEach_];
};

// The items of the thread whose number differs by kMask. `exchange` has room for those of the
// block.
template <u32 kMask, u32 kEach>
NEARFIELD_INLINE Items<kEach> items_of_other(const Items<kEach>& items,
                                             NEARFIELD_SHARED Item* exchange) {
  Items<kEach> others;
  if constexpr (kMask < kWarp) {
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) others.at[i] = shuffle_xor(items.at[i], kMask);
  } else {
    // Item i of all threads side by side: no two threads of a warp meet in a bank.
    sync();
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) exchange[i * kThreads + thread()] = items.at[i];
    sync();
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) others.at[i] = exchange[i * kThreads + (thread() ^ kMask)];
  }
  return others;
}

// Items whose places differ by kStride are put in order, where blocks of twice that are bitonic.
template <u32 kStride, u32 kEach>
NEARFIELD_INLINE void separate(Items<kEach>& items, NEARFIELD_SHARED Item* exchange) {
  if constexpr (kStride < kEach) {
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      if ((i & kStride) == 0) {
        const Item a = items.at[i];
        const Item b = items.at[i ^ kStride];
        items.at[i] = first_of(a, b);
        items.at[i ^ kStride] = last_of(a, b);
      }
    }
  } else {
    constexpr u32 kMask = kStride / kEach;
    const bool lower = (thread() & kMask) == 0;
    const Items<kEach> others = items_of_other<kMask>(items, exchange);
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      items.at[i] =
          lower ? first_of(items.at[i], others.at[i]) : last_of(items.at[i], others.at[i]);
    }
  }
}

// The same with the mirror image in blocks of 2 * kHalf, where each half is in order.
template <u32 kHalf, u32 kEach>
NEARFIELD_INLINE void separate_mirrored(Items<kEach>& items, NEARFIELD_SHARED Item* exchange) {
  if constexpr (kHalf < kEach) {
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      if ((i & kHalf) == 0) {
        const Item a = items.at[i];
        const Item b = items.at[i ^ (2 * kHalf - 1)];
        items.at[i] = first_of(a, b);
        items.at[i ^ (2 * kHalf - 1)] = last_of(a, b);
      }
    }
  } else {
    constexpr u32 kMask = 2 * kHalf / kEach - 1;
    const bool lower = (thread() & (kHalf / kEach)) == 0;
    const Items<kEach> others = items_of_other<kMask>(items, exchange);
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      const Item other = others.at[kEach - 1 - i];
      items.at[i] = lower ? first_of(items.at[i], other) : last_of(items.at[i], other);
    }
  }
}

// Puts bitonic blocks of 2 * kStride in order.
template <u32 kStride, u32 kEach>
NEARFIELD_INLINE void merge_bitonic(Items<kEach>& items, NEARFIELD_SHARED Item* exchange) {
  if constexpr (kStride > 0) {
    separate<kStride>(items, exchange);
    merge_bitonic<kStride / 2>(items, exchange);
  }
}

// All items of the block.
template <u32 kHalf = 1, u32 kEach>
NEARFIELD_INLINE void sort_block(Items<kEach>& items, NEARFIELD_SHARED Item* exchange) {
  if constexpr (kHalf < kThreads * kEach) {
    separate_mirrored<kHalf>(items, exchange);
    merge_bitonic<kHalf / 2>(items, exchange);
    sort_block<kHalf * 2>(items, exchange);
  }
}

// The first of both, which are in order, in order.
template <u32 kEach>
NEARFIELD_INLINE void merge_sorted(Items<kEach>& first, const Items<kEach>& added,
                                   NEARFIELD_SHARED Item* exchange) {
  const Items<kEach> mirrored = items_of_other<kThreads - 1>(added, exchange);
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    first.at[i] = first_of(first.at[i], mirrored.at[kEach - 1 - i]);
  }
  merge_bitonic<kThreads * kEach / 2>(first, exchange);
}

}  // namespace nearfield::device
