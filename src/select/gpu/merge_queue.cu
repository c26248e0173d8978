// Merge queue (Tang et al. 2015; seed: Hanák 2023, section 3.6.2): a block a row, a queue a thread.
//
// A queue has levels of m, m, 2 m, 4 m and so on items, each in descending order, and so are their
// first items: the first of all is the last in order, the one that an item before it replaces. Only
// when a level comes to begin with less than the next one are the two merged. Items wait in a
// buffer and go in from the first in order on: those behind mostly need not go in any more.
//
// What one thread of a warp has to do, all do: they would wait for it anyway.
#include "select/gpu/items.h"

namespace nearfield::device {
namespace {

static_assert(kThreads <= 32, "the host has room for so many queues");

constexpr u32 kFirstLevel = 8;
constexpr u32 kBuffer = 16;
// Reads in flight a thread: they are issued before the first of their values is looked at.
constexpr u32 kReads = 4;

// Of a thread: item i is at [i * kThreads], beside those of the other threads.
struct Queue {
  NEARFIELD_GLOBAL Item* items;
  u32 length;                     // a power of two, at least 2 * kFirstLevel
  NEARFIELD_SHARED Item* buffer;  // kBuffer
  u32 buffered;
  Item first;  // of `items`, but before NaN
};

NEARFIELD_INLINE void put_larger_first(NEARFIELD_GLOBAL Item* items, u32 i, u32 j) {
  const Item a = items[i * kThreads];
  const Item b = items[j * kThreads];
  items[i * kThreads] = last_of(a, b);
  items[j * kThreads] = first_of(a, b);
}

// The level from `begin` on, and the next one up to `end`, a power of two: the first two have
// `end` items together; of any others the places before `begin`, which a bitonic merge of `end`
// items would have too, count as larger ones that stay where they are.
NEARFIELD_INLINE void merge_levels(NEARFIELD_GLOBAL Item* items, u32 begin, u32 end) {
  for (u32 i = begin; i < end / 2; ++i) put_larger_first(items, i, end - 1 - i);
  for (u32 stride = end / 4; stride > 0; stride /= 2) {
    for (u32 i = begin; i < end; ++i) {
      if ((i & stride) == 0) put_larger_first(items, i, i + stride);
    }
  }
}

NEARFIELD_INLINE void restore_levels(const Queue& queue) {
  u32 begin = 0;
  for (u32 next = kFirstLevel; next < queue.length; next *= 2) {
    const bool broken = queue.items[begin * kThreads] < queue.items[next * kThreads];
    if (ballot(broken) == 0) break;
    merge_levels(queue.items, begin, 2 * next);
    begin = next;
  }
}

// In the place of the first.
NEARFIELD_INLINE void insert_into_first_level(NEARFIELD_GLOBAL Item* items, Item item) {
  u32 i = 0;
  for (; i + 1 < kFirstLevel && item < items[(i + 1) * kThreads]; ++i) {
    items[i * kThreads] = items[(i + 1) * kThreads];
  }
  items[i * kThreads] = item;
}

NEARFIELD_INLINE void sort_buffer(const Queue& queue) {
  for (u32 i = 1; i < queue.buffered; ++i) {
    const Item item = queue.buffer[i * kThreads];
    u32 at = i;
    for (; at > 0 && item < queue.buffer[(at - 1) * kThreads]; --at) {
      queue.buffer[at * kThreads] = queue.buffer[(at - 1) * kThreads];
    }
    queue.buffer[at * kThreads] = item;
  }
}

NEARFIELD_INLINE void empty_buffer(Queue& queue) {
  sort_buffer(queue);
  for (u32 i = 0; i < kBuffer; ++i) {
    const Item item = i < queue.buffered ? queue.buffer[i * kThreads] : kNoItem;
    const bool goes_in = item < queue.first;
    if (ballot(goes_in) == 0) break;
    if (goes_in) insert_into_first_level(queue.items, item);
    restore_levels(queue);
    queue.first = first_of(queue.items[0], kFirstNotSelected);
  }
  queue.buffered = 0;
}

NEARFIELD_INLINE void queue_row(const Source& source, u32 count, Queue queue) {
  for (u32 i = 0; i < queue.length; ++i) queue.items[i * kThreads] = kNoItem;
  // Once more at the end, for what is left in the buffers.
  for (u64 at = 0, step = kReads * kThreads; at < count + step; at += step) {
    Item read[kReads];
#pragma unroll
    for (u32 r = 0; r < kReads; ++r) {
      const u64 i = at + r * kThreads + thread();
      read[r] = i < count ? source.at(static_cast<u32>(i)) : kNoItem;
    }
#pragma unroll
    for (u32 r = 0; r < kReads; ++r) {
      if (read[r] < queue.first) queue.buffer[queue.buffered++ * kThreads] = read[r];
    }
    if (ballot(queue.buffered > kBuffer - kReads) != 0 || at >= count) empty_buffer(queue);
  }
}

}  // namespace
}  // namespace nearfield::device

// values: rows of `count` of that kind; queues: kThreads of `length` a row.
NEARFIELD_KERNEL merge_queue(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                             nearfield::u32 count, nearfield::u32 largest, nearfield::u32 length,
                             NEARFIELD_GLOBAL nearfield::device::Item* queues) {
  NEARFIELD_BLOCK nearfield::device::Item
      buffers[nearfield::device::kBuffer * nearfield::device::kThreads];
  const nearfield::u64 row = nearfield::device::block_x();
  const nearfield::u32 thread = nearfield::device::thread();
  nearfield::device::queue_row(nearfield::device::source_of_block(values, kind, count, largest),
                               count,
                               {queues + row * length * nearfield::device::kThreads + thread,
                                length, buffers + thread, 0, nearfield::device::kFirstNotSelected});
}
