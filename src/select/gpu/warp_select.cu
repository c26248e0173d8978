// Warp select and block select (Johnson et al. 2017; seed: Hanák 2023, section 3.6.3): a warp a
// row, or all warps of a block, each with its part of the row.
//
// The first kCapacity of what a warp has seen are in its registers, in order: the warp queue. A
// thread keeps what comes before the k-th of them in a short queue of its own, the last in order in
// front. When that one, too, comes before the k-th, the thread has no room for more: the queues of
// all threads of the warp are sorted and merged into the warp queue.
//
// -DNEARFIELD_CAPACITY: the most that k can be. -DNEARFIELD_WARPS_A_ROW: 1, or those of a block.
#include "select/gpu/warp_sort.h"

namespace nearfield::device {
namespace {

constexpr u32 kCapacity = NEARFIELD_CAPACITY;
constexpr u32 kWarpsARow = NEARFIELD_WARPS_A_ROW;
constexpr u32 kRows = kWarps / kWarpsARow;  // of a block
static_assert(kRows > 0 && kWarps % kWarpsARow == 0);
constexpr u32 kEach = kCapacity / kWarp;
// Of a thread: as Johnson et al. have them, but powers of two.
constexpr u32 kQueue = kCapacity <= 32 ? 2 : kCapacity <= 128 ? 4 : 8;
// Items that warps hand over at a time; an array has at least one.
constexpr u32 kHanded = kWarpsARow > 1 ? kWarpsARow / 2 * kCapacity : 1;
// Reads in flight a thread: they are issued before the first of their values is looked at.
constexpr u32 kReads = 4;

struct Queues {
  WarpItems<kEach> first;    // the warp queue
  WarpItems<kQueue> thread;  // descending in a thread
  Item last;                 // the k-th of the warp queue, but before NaN
};

NEARFIELD_INLINE void empty_thread_queue(WarpItems<kQueue>& queue) {
#pragma unroll
  for (u32 i = 0; i < kQueue; ++i) queue.at[i] = kNoItem;
}

// In the place of the one in front.
NEARFIELD_INLINE void insert(WarpItems<kQueue>& queue, Item item) {
  queue.at[0] = item;
#pragma unroll
  for (u32 i = 0; i + 1 < kQueue; ++i) {
    const Item a = queue.at[i];
    const Item b = queue.at[i + 1];
    queue.at[i] = last_of(a, b);
    queue.at[i + 1] = first_of(a, b);
  }
}

// What the warp queue has no place for is past the k-th: it is not kept.
NEARFIELD_INLINE void merge_thread_queues(Queues& queues, u32 k) {
  sort_warp(queues.thread);
  merge_into_warp(queues.first, queues.thread);
  empty_thread_queue(queues.thread);
  Item last = kNoItem;
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    // Not ==, which the compiler takes for an index and puts the queue into local memory.
    if (i <= (k - 1) / kWarp) last = queues.first.at[i];
  }
  queues.last = first_of(shuffle(last, (k - 1) % kWarp), kFirstNotSelected);
}

// `begin`: of this thread; the other threads of the row have those in between.
NEARFIELD_INLINE void select_in_warp(const Source& source, u32 begin, u32 count, u32 k,
                                     Queues& queues) {
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) queues.first.at[i] = kNoItem;
  empty_thread_queue(queues.thread);
  queues.last = kFirstNotSelected;
  constexpr u32 kApart = kWarpsARow * kWarp;
  // Once more at the end, to merge what is left: the code of a merge is there once.
  for (u64 at = 0, step = kReads * kApart; at < count + step; at += step) {
    Item read[kReads];
#pragma unroll
    for (u32 r = 0; r < kReads; ++r) {
      const u64 i = at + r * kApart + begin;
      read[r] = i < count ? source.at(static_cast<u32>(i)) : kNoItem;
    }
    for (bool again = true; again;) {
      bool waits = false;
#pragma unroll
      for (u32 r = 0; r < kReads; ++r) {
        if (read[r] < queues.last) {
          if (queues.thread.at[0] < queues.last) {
            waits = true;
          } else {
            insert(queues.thread, read[r]);
            read[r] = kNoItem;
          }
        }
      }
      again = ballot(waits) != 0;
      const bool broken = queues.thread.at[0] < queues.last;
      if (ballot(broken) != 0 || at >= count) merge_thread_queues(queues, k);
    }
  }
}

// Half of the warps of the row hand their queues to the other half, until one has the first of all.
NEARFIELD_INLINE void merge_warps(WarpItems<kEach>& first, NEARFIELD_SHARED Item* handed) {
  for (u32 left = kWarpsARow / 2; left > 0; left /= 2) {
    NEARFIELD_SHARED Item* const queue = handed + warp() % left * kCapacity;
    sync();
    if (warp() >= left && warp() < 2 * left) {
#pragma unroll
      for (u32 i = 0; i < kEach; ++i) queue[i * kWarp + lane()] = first.at[i];
    }
    sync();
    if (warp() < left) {
#pragma unroll
      for (u32 i = 0; i < kEach; ++i) {
        first.at[i] = first_of(first.at[i], queue[kCapacity - 1 - (i * kWarp + lane())]);
      }
      merge_bitonic_in_warp<kCapacity / 2>(first);
    }
  }
}

NEARFIELD_INLINE void select_row(const Source& source, u32 count, u32 k,
                                 NEARFIELD_GLOBAL Item* selected, NEARFIELD_SHARED Item* handed) {
  const u32 warp_of_row = warp() % kWarpsARow;
  Queues queues;
  select_in_warp(source, warp_of_row * kWarp + lane(), count, k, queues);
  merge_warps(queues.first, handed);
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    const u32 place = i * kWarp + lane();
    if (warp_of_row == 0 && place < k) selected[place] = queues.first.at[i];
  }
}

}  // namespace
}  // namespace nearfield::device

// values: `rows` of `count` of that kind; selected: k a row.
NEARFIELD_KERNEL warp_select(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                             nearfield::u32 rows, nearfield::u32 count, nearfield::u32 largest,
                             nearfield::u32 k, NEARFIELD_GLOBAL nearfield::device::Item* selected) {
  NEARFIELD_BLOCK nearfield::device::Item handed[nearfield::device::kHanded];
  const nearfield::u64 row =
      static_cast<nearfield::u64>(nearfield::device::block_x()) * nearfield::device::kRows +
      nearfield::device::warp() / nearfield::device::kWarpsARow;
  if (row >= rows) return;  // whole rows: no warp that waits for this one
  nearfield::device::select_row(nearfield::device::source_of_row(values, kind, row, count, largest),
                                count, k, selected + row * k, handed);
}
