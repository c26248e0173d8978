// Buffered bitonic selection (bits.cu) whose list is in the memory of the device, for a k that
// registers do not hold (seed: Hanák 2023, section 5.6). A block a row.
//
// A full buffer is sorted in registers and merged with the list into a second one, which takes its
// place. All items are different, so that an item's place in the merged list is its own plus how
// many of the other list come before it. Every thread finds that for itself, where a merge path
// would have it do so once for several items and then read them one after the other: here threads
// side by side read and write items side by side, and most of the searching is in the memory of the
// block. A merge moves the whole list, and k / kCapacity of them only fill it: what is moved grows
// with the square of k.
#include "select/gpu/buffered_row.h"

namespace nearfield::device {
namespace {

constexpr u32 kCapacity = 8 * kThreads;

// Of items in order.
template <class Pointer>
NEARFIELD_INLINE u32 count_before(Item item, Pointer items, u32 count) {
  u32 begin = 0;
  while (count > 0) {
    const u32 middle = count / 2;
    const bool before = items[begin + middle] < item;
    begin += before ? middle + 1 : 0;
    count = before ? count - middle - 1 : middle;
  }
  return begin;
}

// The first k so far, in order.
struct InMemory {
  NEARFIELD_GLOBAL Item* first;
  NEARFIELD_GLOBAL Item* spare;  // as many
  u32 count;                     // how many there are
  u32 k;

  NEARFIELD_INLINE void merge(const RowBuffer& buffer) {
    const u32 added = *buffer.count < kCapacity ? *buffer.count : kCapacity;
    sort_buffer<kCapacity>(buffer);
    for (u32 i = thread(); i < count; i += kThreads) {
      const Item item = first[i];
      const u32 place = i + count_before(item, buffer.items, added);
      if (place < k) spare[place] = item;
    }
    for (u32 i = thread(); i < added; i += kThreads) {
      const Item item = buffer.items[i];
      const u32 place = i + count_before(item, first, count);
      if (place < k) spare[place] = item;
    }
    NEARFIELD_GLOBAL Item* const merged = spare;
    spare = first;
    first = merged;
    count = count + added < k ? count + added : k;
    sync();
    if (thread() == 0) {
      *buffer.count = 0;
      *buffer.last = count == k ? first[k - 1] : kFirstNotSelected;
    }
    sync();
  }
};

NEARFIELD_INLINE void select_first(const Source& source, u32 cols, u32 k,
                                   NEARFIELD_GLOBAL Item* selected, NEARFIELD_GLOBAL Item* spare,
                                   const RowBuffer& buffer) {
  InMemory list = {selected, spare, 0, k};
  read_part<kCapacity, InMemory>(source, {0, cols, block_x()}, list, buffer);
  for (u32 i = thread(); i < k; i += kThreads) {
    selected[i] = i < list.count ? list.first[i] : kNoItem;
  }
}

}  // namespace
}  // namespace nearfield::device

// values: rows of `count` of that kind; selected, spare: k a row.
NEARFIELD_KERNEL bits_in_memory(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                                nearfield::u32 count, nearfield::u32 largest, nearfield::u32 k,
                                NEARFIELD_GLOBAL nearfield::device::Item* selected,
                                NEARFIELD_GLOBAL nearfield::device::Item* spare) {
  NEARFIELD_BLOCK nearfield::device::Item buffer[nearfield::device::kCapacity];
  NEARFIELD_BLOCK nearfield::u32 buffered;
  NEARFIELD_BLOCK nearfield::device::Item last;
  const nearfield::u64 row = static_cast<nearfield::u64>(nearfield::device::block_x()) * k;
  nearfield::device::select_first(nearfield::device::source_of_block(values, kind, count, largest),
                                  count, k, selected + row, spare + row,
                                  {buffer, &buffered, &last});
}
