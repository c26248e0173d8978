// Rows of items in order: by digits, the lowest first, each pass keeping the order of the one
// before (seed: Hanák 2023, section 3.4.3). A block a row.
#include "select/gpu/block_order.h"
#include "select/gpu/items.h"

namespace nearfield::device {
namespace {

constexpr u32 kDigits = 256;
constexpr u32 kNoDigit = kDigits;

// Lanes of the warp with the same digit.
NEARFIELD_INLINE u32 lanes_with(u32 digit) {
  u32 lanes = ballot(digit != kNoDigit);
#pragma unroll
  for (u32 bit = 0; bit < 8; ++bit) {
    const bool set = (digit >> bit & 1) != 0;
    const u32 who = ballot(set);
    lanes &= set ? who : ~who;
  }
  return lanes;
}

struct Digits {
  NEARFIELD_SHARED u32* starts;  // kDigits: where the next item of each goes
  NEARFIELD_SHARED u32* counts;  // kWarps x kDigits
};

// Where items of each digit begin.
NEARFIELD_INLINE void find_starts(NEARFIELD_GLOBAL const Item* from, u32 count, u32 shift,
                                  const Digits& digits) {
  for (u32 d = thread(); d < kDigits; d += kThreads) digits.starts[d] = 0;
  sync();
  for (u32 i = thread(); i < count; i += kThreads) {
    add_to_shared(digits.starts + (from[i] >> shift) % kDigits, 1);
    if (i + kThreads < i) break;  // past 2^32
  }
  sync();
  if (thread() == 0) {
    u32 next = 0;
    for (u32 d = 0; d < kDigits; ++d) {
      const u32 own = digits.starts[d];
      digits.starts[d] = next;
      next += own;
    }
  }
  sync();
}

NEARFIELD_INLINE void sort_by_digit(NEARFIELD_GLOBAL const Item* from, NEARFIELD_GLOBAL Item* to,
                                    u32 count, u32 shift, const Digits& digits) {
  find_starts(from, count, shift, digits);
  for (u32 at = 0; at < count; at += kThreads) {
    for (u32 i = thread(); i < kWarps * kDigits; i += kThreads) digits.counts[i] = 0;
    sync();
    const u32 i = at + thread();
    const bool has = i >= at && i < count;
    const Item item = has ? from[i] : kNoItem;
    const u32 digit = has ? static_cast<u32>(item >> shift) % kDigits : kNoDigit;
    const u32 same = lanes_with(digit);
    const u32 rank = ones(same & ((1U << lane()) - 1));
    if (has && rank == 0) digits.counts[warp() * kDigits + digit] = ones(same);
    sync();
    for (u32 d = thread(); d < kDigits; d += kThreads) {
      u32 next = digits.starts[d];
      for (u32 w = 0; w < kWarps; ++w) {
        const u32 own = digits.counts[w * kDigits + d];
        digits.counts[w * kDigits + d] = next;
        next += own;
      }
      digits.starts[d] = next;
    }
    sync();
    if (has) to[digits.counts[warp() * kDigits + digit] + rank] = item;
    sync();
    if (at + kThreads < at) break;  // past 2^32
  }
}

}  // namespace
}  // namespace nearfield::device

// By the bits from `first_bit` on, a multiple of 8 of which the rest is an even number of digits,
// so that the last pass leaves them in `items`. Row r begins at starts[r] and ends at starts[r +
// 1].
NEARFIELD_KERNEL sort_rows(NEARFIELD_GLOBAL nearfield::device::Item* items,
                           NEARFIELD_GLOBAL nearfield::device::Item* spare,
                           NEARFIELD_GLOBAL const nearfield::u64* starts,
                           nearfield::u32 first_bit) {
  NEARFIELD_BLOCK nearfield::u32 places[nearfield::device::kDigits];
  NEARFIELD_BLOCK nearfield::u32 counts[nearfield::device::kWarps * nearfield::device::kDigits];
  const nearfield::device::Digits digits = {places, counts};
  const nearfield::u64 start = starts[nearfield::device::block_x()];
  const nearfield::u32 count =
      static_cast<nearfield::u32>(starts[nearfield::device::block_x() + 1] - start);
  for (nearfield::u32 shift = first_bit; shift < 64; shift += 16) {
    nearfield::device::sort_by_digit(items + start, spare + start, count, shift, digits);
    nearfield::device::sort_by_digit(spare + start, items + start, count, shift + 8, digits);
  }
}
