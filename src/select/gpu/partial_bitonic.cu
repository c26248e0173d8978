// Partial bitonic sort (seed: Hanák 2023, section 3.5.1; Kruliš et al. 2015): a block a row. The
// row is sorted in segments of kCapacity, and each is merged with the first so far. Nothing is left
// out beforehand: what bits saves by its filter is what this takes longer.
//
// -DNEARFIELD_CAPACITY: the most that k can be, a multiple of the threads.
#include "select/gpu/block_sort.h"

namespace nearfield::device {
namespace {

constexpr u32 kCapacity = NEARFIELD_CAPACITY;
constexpr u32 kEach = kCapacity / kThreads;

NEARFIELD_INLINE void sort_segments(const Source& source, u32 count, u32 k,
                                    NEARFIELD_GLOBAL Item* selected,
                                    NEARFIELD_SHARED Item* exchange) {
  Items<kEach> first;
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) first.at[i] = kNoItem;
  for (u64 at = 0; at < count; at += kCapacity) {
    Items<kEach> segment;
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
      const u64 from = at + i * kThreads + thread();
      segment.at[i] = from < count ? number_or_none(source.at(static_cast<u32>(from))) : kNoItem;
    }
    sort_block(segment, exchange);
    merge_sorted(first, segment, exchange);
  }
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    const u32 place = thread() * kEach + i;
    if (place < k) selected[static_cast<u64>(block_x()) * k + place] = first.at[i];
  }
}

}  // namespace
}  // namespace nearfield::device

// values: rows of `count` of that kind; selected: k a row.
NEARFIELD_KERNEL partial_bitonic(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                                 nearfield::u32 count, nearfield::u32 largest, nearfield::u32 k,
                                 NEARFIELD_GLOBAL nearfield::device::Item* selected) {
  NEARFIELD_BLOCK nearfield::device::Item exchange[nearfield::device::kCapacity];
  nearfield::device::sort_segments(nearfield::device::source_of_block(values, kind, count, largest),
                                   count, k, selected, exchange);
}
