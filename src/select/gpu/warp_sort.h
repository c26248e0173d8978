// Bitonic sorting of items in the registers of a warp (seed: Hanák 2023, section 3.6.3).
//
// Lane l holds items l, l + kWarp, l + 2 * kWarp and so on: the last kWarp * n of a list are the
// last n of every lane, so that a short list is merged into a long one without moving either. That
// is the difference from block_sort.h.
#pragma once

#include "select/gpu/items.h"

namespace nearfield::device {

// Arrays are indexed by constants only: anything else would put them into local memory.
template <u32 kEach>
struct WarpItems {
  Item at[kEach];
};

// Items whose places differ by kStride are put in order, where blocks of twice that are bitonic.
template <u32 kStride, u32 kEach>
NEARFIELD_INLINE void separate_in_warp(WarpItems<kEach>& items) {
  if constexpr (kStride < kWarp) {
    const bool lower = (lane() & kStride) == 0;
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      const Item other = shuffle_xor(items.at[i], kStride);
      items.at[i] = lower ? first_of(items.at[i], other) : last_of(items.at[i], other);
    }
  } else {
    constexpr u32 kApart = kStride / kWarp;
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      if ((i & kApart) == 0) {
        const Item a = items.at[i];
        const Item b = items.at[i ^ kApart];
        items.at[i] = first_of(a, b);
        items.at[i ^ kApart] = last_of(a, b);
      }
    }
  }
}

// The same with the mirror image in blocks of 2 * kHalf, where each half is in order.
template <u32 kHalf, u32 kEach>
NEARFIELD_INLINE void separate_mirrored_in_warp(WarpItems<kEach>& items) {
  if constexpr (kHalf < kWarp) {
    const bool lower = (lane() & kHalf) == 0;
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      const Item other = shuffle_xor(items.at[i], 2 * kHalf - 1);
      items.at[i] = lower ? first_of(items.at[i], other) : last_of(items.at[i], other);
    }
  } else {
    constexpr u32 kApart = 2 * kHalf / kWarp - 1;
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      if ((i & (kHalf / kWarp)) == 0) {
        const Item mirror_of_a = shuffle_xor(items.at[i ^ kApart], kWarp - 1);
        const Item mirror_of_b = shuffle_xor(items.at[i], kWarp - 1);
        items.at[i] = first_of(items.at[i], mirror_of_a);
        items.at[i ^ kApart] = last_of(items.at[i ^ kApart], mirror_of_b);
      }
    }
  }
}

// Puts bitonic blocks of 2 * kStride in order.
template <u32 kStride, u32 kEach>
NEARFIELD_INLINE void merge_bitonic_in_warp(WarpItems<kEach>& items) {
  if constexpr (kStride > 0) {
    separate_in_warp<kStride>(items);
    merge_bitonic_in_warp<kStride / 2>(items);
  }
}

// All items of the warp.
template <u32 kHalf = 1, u32 kEach>
NEARFIELD_INLINE void sort_warp(WarpItems<kEach>& items) {
  if constexpr (kHalf < kWarp * kEach) {
    separate_mirrored_in_warp<kHalf>(items);
    merge_bitonic_in_warp<kHalf / 2>(items);
    sort_warp<kHalf * 2>(items);
  }
}

// The first of both, which are in order, in order.
template <u32 kEach, u32 kAdded>
NEARFIELD_INLINE void merge_into_warp(WarpItems<kEach>& first, const WarpItems<kAdded>& added) {
  // Of more than there is room for, the last come too late.
#pragma unroll
  for (u32 i = 0; i < (kAdded < kEach ? kAdded : kEach); ++i) {
    const Item mirrored = shuffle_xor(added.at[i], kWarp - 1);
    first.at[kEach - 1 - i] = first_of(first.at[kEach - 1 - i], mirrored);
  }
  merge_bitonic_in_warp<kWarp * kEach / 2>(first);
}

}  // namespace nearfield::device
