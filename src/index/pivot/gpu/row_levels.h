// Lower bounds of distances, of four rows at a time: what bound_kernel.hpp and letter_kernel.hpp
// say, on a device.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

constexpr u32 kRowsOfABlock = 64;
constexpr u32 kRowsOfAWord = 4;
constexpr u32 kPool = 256;
constexpr u32 kLetterBits = 56;

// What is kept of rows. Where there are no pivots, `slots` is 0.
struct KeptRows {
  NEARFIELD_GLOBAL const u32* blocks;
  u32 words;     // of a block
  u32 slots;     // looked at
  u32 numbered;  // 1: a slot says which pivots it is of
  NEARFIELD_GLOBAL const u64* letters;
  u32 has_letters;
};

// What a query knows: of each pivot `above`, and 8 bits higher `below`.
struct AskedQuery {
  NEARFIELD_SHARED const u32* reaches;
  u64 letters;
};

// All threads of the block come here.
NEARFIELD_INLINE AskedQuery load_query(NEARFIELD_GLOBAL const u16* reaches,
                                       NEARFIELD_GLOBAL const u64* letters, u32 query,
                                       NEARFIELD_SHARED u32* shared) {
  NEARFIELD_GLOBAL const u16* const own = reaches + static_cast<u64>(query) * kPool;
  for (u32 i = thread(); i < kPool; i += kThreads) shared[i] = own[i];
  sync();
  return {shared, letters[query]};
}

NEARFIELD_INLINE u32 larger(u32 a, u32 b) { return a > b ? a : b; }

NEARFIELD_INLINE u32 pivot_bound(u32 bucket, u32 reach) {
  const u32 above = reach & 0xFF;
  const u32 below = reach >> 8;
  return larger(bucket > above ? bucket - above : 0, below > bucket ? below - bucket : 0);
}

NEARFIELD_INLINE u32 letter_bound(u64 query, u64 row) {
  const u64 differ = (query ^ row) & ((static_cast<u64>(1) << kLetterBits) - 1);
  const u32 missing = static_cast<u32>(ones(differ & query));
  const u32 added = static_cast<u32>(ones(differ & row));
  const u32 length = static_cast<u32>(query >> kLetterBits);
  const u32 other = static_cast<u32>(row >> kLetterBits);
  return larger(length > other ? length - other : other - length, larger(missing, added));
}

struct FourLevels {
  u32 of[kRowsOfAWord];
};

// Of the rows from four times `word` on; there is memory for a whole block.
NEARFIELD_INLINE FourLevels row_levels(const KeptRows& kept, const AskedQuery& query, u32 word) {
  constexpr u32 kWords = kRowsOfABlock / kRowsOfAWord;
  FourLevels levels = {{0, 0, 0, 0}};
  NEARFIELD_GLOBAL const u32* slot =
      kept.blocks + static_cast<u64>(word / kWords) * kept.words + word % kWords;
  for (u32 i = 0; i < kept.slots; ++i) {
    const u32 buckets = *slot;
    slot += kWords;
    u32 numbers = i * 0x01010101u;
    if (kept.numbered != 0) {
      numbers = *slot;
      slot += kWords;
    }
    for (u32 row = 0; row < kRowsOfAWord; ++row) {
      const u32 reach = query.reaches[numbers >> (8 * row) & 0xFF];
      levels.of[row] = larger(levels.of[row], pivot_bound(buckets >> (8 * row) & 0xFF, reach));
    }
  }
  if (kept.has_letters != 0) {
    for (u32 row = 0; row < kRowsOfAWord; ++row) {
      const u64 own = kept.letters[static_cast<u64>(word) * kRowsOfAWord + row];
      levels.of[row] = larger(levels.of[row], letter_bound(query.letters, own));
    }
  }
  return levels;
}

}  // namespace nearfield::device
