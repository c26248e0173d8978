// The reading half of buffered selection (seed: Hanák 2023, section 4.1): what comes before the
// k-th item so far goes to a buffer of the block, which is merged into a list when it is full.
#pragma once

#include "select/gpu/block_sort.h"
#include "select/gpu/row_parts.h"

namespace nearfield::device {

struct RowBuffer {
  NEARFIELD_SHARED Item* items;  // the capacity
  NEARFIELD_SHARED u32* count;   // how many have been put there, or have tried
  NEARFIELD_SHARED Item* last;   // the k-th so far
};

// The buffer in order, in registers and in its own memory.
template <u32 kCapacity>
NEARFIELD_INLINE void sort_buffer(const RowBuffer& buffer) {
  constexpr u32 kEach = kCapacity / kThreads;
  const u32 count = *buffer.count;  // or more have tried
  const u32 mine = thread() * kEach;
  Items<kEach> added;
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) added.at[i] = mine + i < count ? buffer.items[mine + i] : kNoItem;
  sort_block(added, buffer.items);
  sync();
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) buffer.items[mine + i] = added.at[i];
  sync();
}

// Reads in flight a thread: they are issued before the first of their values is looked at.
constexpr u32 kReads = 4;

// Every item of the part that may be among the first has been merged into the list by
// `list.merge(buffer)`, which all threads call, and which empties the buffer and says what is last.
// Returns how often that was.
template <u32 kCapacity, class List>
NEARFIELD_INLINE u32 read_part(const Source& source, const PartOfRow& part, List& list,
                               const RowBuffer& buffer) {
  if (thread() == 0) {
    *buffer.count = 0;
    *buffer.last = kFirstNotSelected;
  }
  sync();

  u32 merges = 0;
  // Once more at the end, to merge what is left: the code of a merge is there once.
  for (u64 at = part.begin, step = kReads * kThreads; at < part.end + step; at += step) {
    Item read[kReads];
#pragma unroll
    for (u32 r = 0; r < kReads; ++r) {
      const u64 i = at + r * kThreads + thread();
      read[r] = i < part.end ? source.at(static_cast<u32>(i)) : kNoItem;
    }
    const bool ends = at >= part.end;
    for (bool full = true; full;) {
      const Item last = *buffer.last;
      bool waits = false;
#pragma unroll
      for (u32 r = 0; r < kReads; ++r) {
        if (read[r] < last) {
          const u32 slot = add_to_shared(buffer.count, 1);
          if (slot < kCapacity) {
            buffer.items[slot] = read[r];
            read[r] = kNoItem;
          } else {
            waits = true;
          }
        }
      }
      full = sync_any(waits);
      if (full || ends) {
        list.merge(buffer);
        ++merges;
      }
    }
  }
  return merges;
}

}  // namespace nearfield::device
