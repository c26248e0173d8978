// Selection by digits of the key, the highest first (radix select; seed: Hanák 2023,
// section 3.7.2): any k. A block a row: four times it counts the digits of the keys that are still
// in question, which leaves the k-th key; then those up to it are gathered in the order of their
// places.
#include "select/gpu/block_order.h"
#include "select/gpu/items.h"

namespace nearfield::device {
// Of a row: the key of the k-th, how many come before it, how many of those that have it are among
// the first k, and how many have it.
struct Threshold {
  u32 key;
  u32 below;
  u32 taken;
  u32 equal;
};

namespace {

constexpr u32 kDigits = 256;  // values of a digit
constexpr u32 kEach = kDigits / kThreads;
static_assert(kEach > 0, "a thread has a digit or several");

struct Counting {
  NEARFIELD_SHARED u32* counts;  // kDigits
  NEARFIELD_SHARED u32* sums;    // kThreads
  NEARFIELD_SHARED u32* key;     // so far
  NEARFIELD_SHARED u32* wanted;  // which of those that begin with it
  NEARFIELD_SHARED u32* equal;   // how many do
};

// Counts the digits at `shift` of keys that begin with those above it.
NEARFIELD_INLINE void count_digits(const Source& source, u32 count, u32 shift, u32 key,
                                   NEARFIELD_SHARED u32* counts) {
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) counts[i * kThreads + thread()] = 0;
  sync();
  for (u32 i = thread(); i < count; i += kThreads) {
    const u32 own = source.key(i);
    const bool begins = shift == 24 || (own ^ key) >> (shift + 8) == 0;
    if (own != kNoKey && begins) add_to_shared(counts + (own >> shift) % kDigits, 1);
    if (i + kThreads < i) break;  // past 2^32
  }
  sync();
}

// Of keys that begin with the same: the digit of the one wanted, how many have it, and in place of
// which is wanted how many come before. Returns which was: the last, where there are fewer numbers.
NEARFIELD_INLINE u32 find_digit(u32 wanted, const Counting& shared) {
  u32 own[kEach];
  u32 sum = 0;
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    own[i] = shared.counts[thread() * kEach + i];
    sum += own[i];
  }
  u32 before = sum_before(sum, shared.sums);
  // The last thread knows how many numbers there are.
  if (thread() == kThreads - 1) {
    const u32 all = before + sum;
    *shared.wanted = wanted < all ? wanted : all;
    *shared.key = 0;
    *shared.equal = 0;
  }
  sync();
  wanted = *shared.wanted;
  sync();
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    if (before < wanted && wanted <= before + own[i]) {
      *shared.key = thread() * kEach + i;
      *shared.equal = own[i];
      *shared.wanted = before;
    }
    before += own[i];
  }
  sync();
  return wanted;
}

NEARFIELD_INLINE void find_threshold(const Source& source, u32 count, u32 k,
                                     NEARFIELD_GLOBAL Threshold* found, const Counting& shared) {
  u32 key = 0;
  u32 wanted = k;
  u32 equal = 0;
  u32 below = 0;
  for (i32 shift = 24; shift >= 0; shift -= 8) {
    count_digits(source, count, static_cast<u32>(shift), key, shared.counts);
    wanted = find_digit(wanted, shared);
    key |= *shared.key << shift;
    equal = *shared.equal;
    if (wanted != 0) {
      below += *shared.wanted;
      wanted -= *shared.wanted;
    }
    sync();
  }
  if (thread() == 0) found[block_x()] = {key, below, wanted, equal};
}

// Items before the threshold, and those at it: all, or those that are among the first k. In the
// order of their places.
NEARFIELD_INLINE void gather_items(const Source& source, u32 count,
                                   NEARFIELD_GLOBAL const Threshold* thresholds, u32 all_equal,
                                   NEARFIELD_GLOBAL Item* items, NEARFIELD_SHARED u32* totals) {
  const u32 last = thresholds[block_x()].key;
  const u32 most_equal = all_equal != 0 ? thresholds[block_x()].equal : thresholds[block_x()].taken;
  u32 taken = 0;
  u32 equal = 0;
  for (u32 at = 0; at < count; at += kThreads) {
    const u32 i = at + thread();
    const u32 key = i >= at && i < count ? source.key(i) : kNoKey;
    const bool is_equal = key == last && key != kNoKey;
    const Slot among_equal = slot_in_order(is_equal, totals);
    const bool takes = key < last || (is_equal && equal + among_equal.own < most_equal);
    const Slot slot = slot_in_order(takes, totals);
    if (takes) items[taken + slot.own] = source.at(i);
    taken += slot.all;
    equal += among_equal.all;
    if (at + kThreads < at) break;  // past 2^32
  }
}

}  // namespace
}  // namespace nearfield::device

// values: rows of `count` of that kind; found: one a row. Where a row has fewer than k numbers, of
// its last.
NEARFIELD_KERNEL radix_threshold(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                                 nearfield::u32 count, nearfield::u32 largest, nearfield::u32 k,
                                 NEARFIELD_GLOBAL nearfield::device::Threshold* found) {
  NEARFIELD_BLOCK nearfield::u32 counts[nearfield::device::kDigits];
  NEARFIELD_BLOCK nearfield::u32 sums[nearfield::device::kThreads];
  NEARFIELD_BLOCK nearfield::u32 of_all[3];
  nearfield::device::find_threshold(
      nearfield::device::source_of_block(values, kind, count, largest), count, k, found,
      {counts, sums, of_all, of_all + 1, of_all + 2});
}

// starts: where the items of a row begin.
NEARFIELD_KERNEL gather(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                        nearfield::u32 count, nearfield::u32 largest,
                        NEARFIELD_GLOBAL const nearfield::device::Threshold* thresholds,
                        nearfield::u32 all_equal, NEARFIELD_GLOBAL const nearfield::u64* starts,
                        NEARFIELD_GLOBAL nearfield::device::Item* items) {
  NEARFIELD_BLOCK nearfield::u32 totals[nearfield::device::kThreads];
  nearfield::device::gather_items(nearfield::device::source_of_block(values, kind, count, largest),
                                  count, thresholds, all_equal,
                                  items + starts[nearfield::device::block_x()], totals);
}

// Of the items of float64 that gather() found: the whole keys, of which they have the upper halves.
NEARFIELD_KERNEL whole_keys(NEARFIELD_GLOBAL const void* values, nearfield::u32 count,
                            nearfield::u32 largest, NEARFIELD_GLOBAL const nearfield::u64* starts,
                            NEARFIELD_GLOBAL const nearfield::device::Item* items,
                            NEARFIELD_GLOBAL nearfield::u64* keys) {
  const nearfield::device::Source row =
      nearfield::device::source_of_block(values, nearfield::device::kDoubles, count, largest);
  const nearfield::u64 end = starts[nearfield::device::block_x() + 1];
  for (nearfield::u64 i = starts[nearfield::device::block_x()] + nearfield::device::thread();
       i < end; i += nearfield::device::kThreads) {
    const nearfield::u32 place = static_cast<nearfield::u32>(items[i]);
    keys[i] = nearfield::device::whole_key_of_double(row.double_bits(place));
  }
}
