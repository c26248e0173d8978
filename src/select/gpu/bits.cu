// Buffered bitonic selection (bits; seed: Hanák 2023, section 4.1): a block a row, or a part of
// one.
//
// The first kCapacity of a row so far are in registers, in order. An item before the k-th of them
// goes to a buffer of the block; when the buffer is full it is sorted and merged. On a row in
// random order that happens 3 + 2 ln(n / k) times in the mean, if k is the capacity; the rest of
// the time is reading.
//
// -DNEARFIELD_CAPACITY: the most that k can be, a multiple of the threads.
#include "select/gpu/buffered_row.h"

namespace nearfield::device {
namespace {

constexpr u32 kCapacity = NEARFIELD_CAPACITY;
constexpr u32 kEach = kCapacity / kThreads;

// The first kCapacity so far, in order.
struct InRegisters {
  Items<kEach> first;
  u32 k;

  NEARFIELD_INLINE void merge(const RowBuffer& buffer) {
    const u32 mine = thread() * kEach;
    sort_buffer<kCapacity>(buffer);
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      first.at[i] = first_of(first.at[i], buffer.items[kCapacity - 1 - (mine + i)]);
    }
    merge_bitonic<kCapacity / 2>(first, buffer.items);
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      if (mine + i == k - 1) *buffer.last = first_of(first.at[i], kFirstNotSelected);
    }
    if (thread() == 0) *buffer.count = 0;
    sync();
  }
};

NEARFIELD_INLINE void select_first(const Source& source, const PartOfRow& part, u32 k,
                                   NEARFIELD_GLOBAL Item* selected, NEARFIELD_GLOBAL u32* merges,
                                   const RowBuffer& buffer) {
  InRegisters list;
  list.k = k;
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) list.first.at[i] = kNoItem;
  const u32 merged = read_part<kCapacity, InRegisters>(source, part, list, buffer);
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    const u32 place = thread() * kEach + i;
    if (place < k) selected[part.index * k + place] = list.first.at[i];
  }
  if (thread() == 0) merges[part.index] = merged;
}

}  // namespace
}  // namespace nearfield::device

// values: rows of `count` of that kind; selected: k a part; merges: one a part.
NEARFIELD_KERNEL bits(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                      nearfield::u32 count, nearfield::u32 largest, nearfield::u32 k,
                      NEARFIELD_GLOBAL nearfield::device::Item* selected,
                      NEARFIELD_GLOBAL nearfield::u32* merges) {
  NEARFIELD_BLOCK nearfield::device::Item buffer[nearfield::device::kCapacity];
  NEARFIELD_BLOCK nearfield::u32 buffered;
  NEARFIELD_BLOCK nearfield::device::Item last;
  nearfield::device::select_first(nearfield::device::source_of_block(values, kind, count, largest),
                                  nearfield::device::part_of_row(count), k, selected, merges,
                                  {buffer, &buffered, &last});
}
