// The first two of a row, or of a part of one: what matching of descriptors asks for. A block a
// part; each thread keeps the first two of what it reads, and these are merged pairwise.
#include "device/gpu/first_two.h"
#include "select/gpu/items.h"
#include "select/gpu/row_parts.h"

namespace nearfield::device {
namespace {

// Reads in flight a thread.
constexpr u32 kReads = 8;

NEARFIELD_INLINE Two first_two_read(const Source& source, const PartOfRow& part) {
  Two two = {kNoItem, kNoItem};
  for (u64 at = part.begin + thread(); at < part.end; at += kReads * kThreads) {
    Item read[kReads];
#pragma unroll
    for (u32 r = 0; r < kReads; ++r) {
      const u64 i = at + r * kThreads;
      read[r] = i < part.end ? source.at(static_cast<u32>(i)) : kNoItem;
    }
#pragma unroll
    for (u32 r = 0; r < kReads; ++r) two = first_two_of(two, {read[r], kNoItem});
  }
  return two;
}

NEARFIELD_INLINE void select_two(const Source& source, const PartOfRow& part, u32 k,
                                 NEARFIELD_GLOBAL Item* selected, NEARFIELD_SHARED Item* firsts,
                                 NEARFIELD_SHARED Item* seconds) {
  Two two = first_two_read(source, part);
#pragma unroll
  for (u32 mask = 1; mask < kWarp; mask *= 2) {
    two = first_two_of(two, {shuffle_xor(two.first, mask), shuffle_xor(two.second, mask)});
  }
  if (lane() == 0) {
    firsts[warp()] = two.first;
    seconds[warp()] = two.second;
  }
  sync();
  if (thread() != 0) return;
  for (u32 w = 1; w < kWarps; ++w) two = first_two_of(two, {firsts[w], seconds[w]});
  selected[part.index * k] = two.first < kFirstNotSelected ? two.first : kNoItem;
  if (k == 2) selected[part.index * k + 1] = two.second < kFirstNotSelected ? two.second : kNoItem;
}

}  // namespace
}  // namespace nearfield::device

// values: rows of `count` of that kind; selected: k a part, 1 or 2.
NEARFIELD_KERNEL two_nearest(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                             nearfield::u32 count, nearfield::u32 largest, nearfield::u32 k,
                             NEARFIELD_GLOBAL nearfield::device::Item* selected) {
  NEARFIELD_BLOCK nearfield::device::Item firsts[nearfield::device::kWarps];
  NEARFIELD_BLOCK nearfield::device::Item seconds[nearfield::device::kWarps];
  nearfield::device::select_two(nearfield::device::source_of_block(values, kind, count, largest),
                                nearfield::device::part_of_row(count), k, selected, firsts,
                                seconds);
}
