// What is selected: a value and its place, as one number in their total order.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

// The value's key above, the place in its row below. Two items are never equal, so that there are
// no ties to think of.
using Item = u64;

// A key that no number has: NaN's. Items from here on are never selected.
constexpr u32 kNoKey = 0xFFFFFFFF;
constexpr Item kNoItem = 0xFFFFFFFFFFFFFFFF;
constexpr Item kFirstNotSelected = 0xFFFFFFFF00000000;

NEARFIELD_INLINE Item make_item(u32 key, u32 place) { return static_cast<Item>(key) << 32 | place; }
NEARFIELD_INLINE u32 key_of_item(Item item) { return static_cast<u32>(item >> 32); }

NEARFIELD_INLINE Item first_of(Item a, Item b) { return a < b ? a : b; }
NEARFIELD_INLINE Item last_of(Item a, Item b) { return a < b ? b : a; }

// For selections that do not compare with the k-th so far, which would drop NaN.
NEARFIELD_INLINE Item number_or_none(Item item) {
  return item < kFirstNotSelected ? item : kNoItem;
}

// Grows with the value, one for one, but -0 and 0 are the same.
NEARFIELD_INLINE u32 key_of_float(u32 bits) {
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return kNoKey;
  if (bits == 0x80000000) bits = 0;
  return bits ^ (bits >> 31 != 0 ? 0xFFFFFFFF : 0x80000000);
}

// The same for float64, but that NaN has one too. By integers alone: a device need not have
// float64.
NEARFIELD_INLINE u64 whole_key_of_double(u64 bits) {
  if (bits == 0x8000000000000000) bits = 0;
  return bits ^ (bits >> 63 != 0 ? 0xFFFFFFFFFFFFFFFF : 0x8000000000000000);
}

// Its upper half: of different values it may be the same, but never the other way round.
NEARFIELD_INLINE u32 key_of_double(u64 bits) {
  if ((bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000) return kNoKey;
  return static_cast<u32>(whole_key_of_double(bits) >> 32);
}

// Where items come from: float32, float64, or items that parts of a row have selected.
enum SourceKind : u32 { kFloats, kDoubles, kItems };

// A row. Of the largest, the first are those of the values negated.
struct Source {
  NEARFIELD_GLOBAL const u8* row;
  u32 kind;
  u32 largest;

  NEARFIELD_INLINE u32 key(u32 i) const {
    if (kind == kFloats) {
      return key_of_float(reinterpret_cast<NEARFIELD_GLOBAL const u32*>(row)[i] ^ largest << 31);
    }
    if (kind == kDoubles) {
      return key_of_double(double_bits(i));
    }
    return key_of_item(reinterpret_cast<NEARFIELD_GLOBAL const Item*>(row)[i]);
  }

  // Of kDoubles.
  NEARFIELD_INLINE u64 double_bits(u32 i) const {
    return reinterpret_cast<NEARFIELD_GLOBAL const u64*>(row)[i] ^ static_cast<u64>(largest) << 63;
  }

  NEARFIELD_INLINE Item at(u32 i) const {
    return kind == kItems ? reinterpret_cast<NEARFIELD_GLOBAL const Item*>(row)[i]
                          : make_item(key(i), i);
  }
};

// Of rows of `count`.
NEARFIELD_INLINE Source source_of_row(NEARFIELD_GLOBAL const void* values, u32 kind, u64 row,
                                      u32 count, u32 largest) {
  const u64 begin = row * count * (kind == kFloats ? 4 : 8);
  return {reinterpret_cast<NEARFIELD_GLOBAL const u8*>(values) + begin, kind, largest};
}

// Row `block_x`.
NEARFIELD_INLINE Source source_of_block(NEARFIELD_GLOBAL const void* values, u32 kind, u32 count,
                                        u32 largest) {
  return source_of_row(values, kind, block_x(), count, largest);
}

}  // namespace nearfield::device
