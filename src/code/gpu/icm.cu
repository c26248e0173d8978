// Local search in 16-bit fixed point (code/icm_tables.hpp), for codebooks of NEARFIELD_CODEWORDS
// codewords. Sums are of 32 bits here and cut off at 16 in the end: entries are not negative, so
// that it is what saturating additions give on CPUs.
#include "device/gpu/kernel_language.h"

namespace nearfield::device {
namespace {

constexpr u32 kCodewords = NEARFIELD_CODEWORDS;
constexpr u32 kMostOfASum = 0xFFFF;  // kTooFar

NEARFIELD_INLINE i32 lower(u32 word) { return static_cast<i32>(word << 16) >> 16; }
NEARFIELD_INLINE i32 upper(u32 word) { return static_cast<i32>(word) >> 16; }

// ---- Products of 16-bit integers: a block makes those of some vectors with all codewords of one
// codebook. A thread has one codeword or several, and kVectors vectors.

constexpr u32 kColumns = kThreads < kCodewords ? kThreads : kCodewords;
constexpr u32 kOwn = kCodewords / kColumns;
constexpr u32 kGroups = kThreads / kColumns;
constexpr u32 kVectors = 8;
constexpr u32 kBlockVectors = kGroups * kVectors;
constexpr u32 kPanel = 16;  // words of each vector that are in the memory of the block

using Panel = u32[kBlockVectors][kPanel];

struct Sums {
  i32 of[kOwn][kVectors];
};

// vectors: rows of `pairs` words, from the block's first on; codebook: [pair][codeword].
NEARFIELD_INLINE void multiply(NEARFIELD_GLOBAL const u32* vectors, u32 count,
                               NEARFIELD_GLOBAL const u32* codebook, u32 pairs,
                               NEARFIELD_SHARED Panel& panel, Sums& sums) {
  const u32 column = thread() % kColumns;
  const u32 group = thread() / kColumns;
  NEARFIELD_UNROLL_REGISTERS
  for (u32 o = 0; o < kOwn; ++o) {
    NEARFIELD_UNROLL_REGISTERS
    for (u32 v = 0; v < kVectors; ++v) sums.of[o][v] = 0;
  }
  for (u32 first = 0; first < pairs; first += kPanel) {
    const u32 width = pairs - first < kPanel ? pairs - first : kPanel;
    sync();  // the panel before has been read
    for (u32 i = thread(); i < kBlockVectors * kPanel; i += kThreads) {
      const u32 vector = i / kPanel;
      const u32 pair = i % kPanel;
      const bool there = vector < count && pair < width;
      panel[vector][pair] = there ? vectors[static_cast<u64>(vector) * pairs + first + pair] : 0;
    }
    sync();
    for (u32 pair = 0; pair < width; ++pair) {
      NEARFIELD_UNROLL_REGISTERS
      for (u32 o = 0; o < kOwn; ++o) {
        const u32 word =
            codebook[static_cast<u64>(first + pair) * kCodewords + o * kColumns + column];
        NEARFIELD_UNROLL_REGISTERS
        for (u32 v = 0; v < kVectors; ++v) {
          const u32 x = panel[group * kVectors + v][pair];
          sums.of[o][v] += lower(x) * lower(word) + upper(x) * upper(word);
        }
      }
    }
  }
}

using Least = float[kVectors][kThreads];

// value(o, v): of this thread's o-th codeword and v-th vector. Of each vector what is above the
// smallest of them, as a whole number, to out(v) + codeword. `there` of this thread's vectors are.
template <class Value, class Out>
NEARFIELD_INLINE void store_above(const Value& value, u32 there, NEARFIELD_SHARED Least& least,
                                  const Out& out) {
  const u32 column = thread() % kColumns;
  NEARFIELD_UNROLL_REGISTERS
  for (u32 v = 0; v < kVectors; ++v) {
    float own = value(0, v);
    NEARFIELD_UNROLL_REGISTERS
    for (u32 o = 1; o < kOwn; ++o) {
      const float other = value(o, v);
      own = other < own ? other : own;
    }
    least[v][thread()] = own;
  }
  for (u32 apart = kColumns / 2; apart > 0; apart /= 2) {
    sync();
    for (u32 v = 0; column < apart && v < kVectors; ++v) {
      const float other = least[v][thread() + apart];
      if (other < least[v][thread()]) least[v][thread()] = other;
    }
  }
  sync();
  NEARFIELD_UNROLL_REGISTERS
  for (u32 v = 0; v < kVectors; ++v) {
    if (v >= there) continue;
    const float smallest = least[v][thread() - column];
    NEARFIELD_UNROLL_REGISTERS
    for (u32 o = 0; o < kOwn; ++o) {
      const float above = value(o, v) - smallest;
      const float most = static_cast<float>(kMostOfASum);
      out(v)[o * kColumns + column] = static_cast<u16>(rint(above < most ? above : most));
    }
  }
}

// ---- Pairs of codebooks: block_x has some codewords of the other, block_y is the pair's place
// behind the first of the launch.

struct PairOfCodebooks {
  u32 target;
  u32 other;
};

NEARFIELD_INLINE PairOfCodebooks pair_at(u32 place, u32 codebooks) {
  const u32 target = place / (codebooks - 1);
  const u32 slot = place % (codebooks - 1);
  return {target, slot + (slot >= target ? 1 : 0)};
}

// rows: [codebook][codeword][pair]; words: [codebook][pair][codeword].
NEARFIELD_INLINE void multiply_pair(NEARFIELD_GLOBAL const u32* rows,
                                    NEARFIELD_GLOBAL const u32* words, u32 place, u32 codebooks,
                                    u32 pairs, NEARFIELD_SHARED Panel& panel, Sums& sums) {
  const PairOfCodebooks pair = pair_at(place, codebooks);
  const u32 first = block_x() * kBlockVectors;
  multiply(rows + (static_cast<u64>(pair.other) * kCodewords + first) * pairs, kCodewords - first,
           words + static_cast<u64>(pair.target) * kCodewords * pairs, pairs, panel, sums);
}

// Of this thread's vectors, of which `count` are in the block.
NEARFIELD_INLINE u32 vectors_there(u32 count) {
  const u32 begin = thread() / kColumns * kVectors;
  return begin < count ? count - begin : 0;
}

// ---- A step: lanes that share a vector have some words of two codes each.

constexpr u32 kRowWords = kCodewords / 2;
constexpr u32 kLanes = kWarp < kRowWords ? kWarp : kRowWords;
constexpr u32 kOwnWords = kRowWords / kLanes;
constexpr u32 kStepVectors = kThreads / kLanes;

struct CodeSums {
  u32 lower[kOwnWords];
  u32 upper[kOwnWords];
};

NEARFIELD_INLINE void add_row(NEARFIELD_GLOBAL const u32* row, CodeSums& sums) {
  const u32 own = thread() % kLanes;
  NEARFIELD_UNROLL_REGISTERS
  for (u32 i = 0; i < kOwnWords; ++i) {
    const u32 word = row[i * kLanes + own];
    sums.lower[i] += word & 0xFFFF;
    sums.upper[i] += word >> 16;
  }
}

NEARFIELD_INLINE u32 smaller(u32 a, u32 b) { return a < b ? a : b; }

// Of the lanes of a vector: the smallest sum, and of equals the smallest code, in the lower half.
NEARFIELD_INLINE u32 smallest_of(const CodeSums& sums) {
  const u32 own = thread() % kLanes;
  u32 best = ~0u;
  NEARFIELD_UNROLL_REGISTERS
  for (u32 i = 0; i < kOwnWords; ++i) {
    const u32 code = 2 * (i * kLanes + own);
    best = smaller(best, smaller(sums.lower[i], kMostOfASum) << 16 | code);
    best = smaller(best, smaller(sums.upper[i], kMostOfASum) << 16 | (code + 1));
  }
  for (u32 mask = 1; mask < kLanes; mask *= 2) best = smaller(best, shuffle_xor(best, mask));
  return best;
}

}  // namespace
}  // namespace nearfield::device

// Of codebook block_y: norms less scaled products, less the smallest of them, as whole numbers.
// rounded: words of `pairs` a vector. words: [codebook][pair][codeword]. unaries:
// [codebook][vector of `room`][code].
NEARFIELD_KERNEL make_unaries(NEARFIELD_GLOBAL const nearfield::u32* rounded,
                              NEARFIELD_GLOBAL const float* scales, nearfield::u32 count,
                              nearfield::u32 room, NEARFIELD_GLOBAL const nearfield::u32* words,
                              nearfield::u32 pairs, NEARFIELD_GLOBAL const float* norms,
                              NEARFIELD_GLOBAL nearfield::u16* unaries) {
  NEARFIELD_BLOCK nearfield::device::Panel panel;
  NEARFIELD_BLOCK nearfield::device::Least least;
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 codebook = block_y();
  const u32 first = block_x() * kBlockVectors;
  const u32 column = thread() % kColumns;
  const u32 begin = first + thread() / kColumns * kVectors;  // of this thread's vectors
  Sums sums;
  multiply(rounded + static_cast<u64>(first) * pairs, count - first,
           words + static_cast<u64>(codebook) * pairs * kCodewords, pairs, panel, sums);
  NEARFIELD_GLOBAL const float* const own_norms = norms + codebook * kCodewords + column;
  const auto value = [&](u32 o, u32 v) {
    const float scale = begin + v < count ? scales[begin + v] : 0;
    return own_norms[o * kColumns] - static_cast<float>(sums.of[o][v]) * scale;
  };
  const auto out = [&](u32 v) {
    return unaries + (static_cast<u64>(codebook) * room + begin + v) * kCodewords;
  };
  store_above(value, vectors_there(count - first), least, out);
}

// ranges: [pair of codebooks][codeword of the other]: of its products with all codewords of the
// target, the largest less the smallest.
NEARFIELD_KERNEL pair_ranges(NEARFIELD_GLOBAL const nearfield::u32* rows,
                             NEARFIELD_GLOBAL const nearfield::u32* words,
                             nearfield::u32 first_pair, nearfield::u32 codebooks,
                             nearfield::u32 pairs, NEARFIELD_GLOBAL nearfield::u32* ranges) {
  NEARFIELD_BLOCK nearfield::device::Panel panel;
  NEARFIELD_BLOCK nearfield::i32 least[nearfield::device::kThreads];
  NEARFIELD_BLOCK nearfield::i32 most[nearfield::device::kThreads];
  using namespace nearfield::device;
  using nearfield::i32;
  using nearfield::u32;
  using nearfield::u64;
  const u32 place = first_pair + block_y();
  const u32 column = thread() % kColumns;
  const u32 begin = block_x() * kBlockVectors + thread() / kColumns * kVectors;
  Sums sums;
  multiply_pair(rows, words, place, codebooks, pairs, panel, sums);
  NEARFIELD_UNROLL_REGISTERS
  for (u32 v = 0; v < kVectors; ++v) {
    i32 low = sums.of[0][v];
    i32 high = low;
    NEARFIELD_UNROLL_REGISTERS
    for (u32 o = 1; o < kOwn; ++o) {
      low = sums.of[o][v] < low ? sums.of[o][v] : low;
      high = sums.of[o][v] > high ? sums.of[o][v] : high;
    }
    sync();  // those of the vector before have been read
    least[thread()] = low;
    most[thread()] = high;
    for (u32 apart = kColumns / 2; apart > 0; apart /= 2) {
      sync();
      if (column >= apart) continue;
      const i32 lower_one = least[thread() + apart];
      const i32 higher_one = most[thread() + apart];
      if (lower_one < least[thread()]) least[thread()] = lower_one;
      if (higher_one > most[thread()]) most[thread()] = higher_one;
    }
    if (column != 0 || begin + v >= kCodewords) continue;
    // Of 32 bits without a sign: products are below 2^31 on both sides.
    ranges[static_cast<u64>(place) * kCodewords + begin + v] =
        static_cast<u32>(most[thread()]) - static_cast<u32>(least[thread()]);
  }
}

// tables: [pair of codebooks][codeword of the other][codeword of the target]: scaled products as
// whole numbers, less the smallest of the row.
NEARFIELD_KERNEL pair_rows(NEARFIELD_GLOBAL const nearfield::u32* rows,
                           NEARFIELD_GLOBAL const nearfield::u32* words, nearfield::u32 first_pair,
                           nearfield::u32 codebooks, nearfield::u32 pairs, float scale,
                           NEARFIELD_GLOBAL nearfield::u16* tables) {
  NEARFIELD_BLOCK nearfield::device::Panel panel;
  NEARFIELD_BLOCK nearfield::device::Least least;
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 place = first_pair + block_y();
  const u32 first = block_x() * kBlockVectors;
  const u32 begin = first + thread() / kColumns * kVectors;
  Sums sums;
  multiply_pair(rows, words, place, codebooks, pairs, panel, sums);
  const auto value = [&](u32 o, u32 v) { return rint(static_cast<float>(sums.of[o][v]) * scale); };
  const auto out = [&](u32 v) {
    return tables + (static_cast<u64>(place) * kCodewords + begin + v) * kCodewords;
  };
  store_above(value, vectors_there(kCodewords - first), least, out);
}

// The best code of the codebook `target` of each vector, while the others stay. Bit k of `stale`
// says that codebook k must be looked at: another code has changed since. pairs: [other codebook,
// without the target][its code][code of the target]; unaries: of the target; two codes a word.
NEARFIELD_KERNEL icm_step(NEARFIELD_GLOBAL const nearfield::u32* pairs, nearfield::u64 first_pair,
                          NEARFIELD_GLOBAL const nearfield::u32* unaries,
                          nearfield::u64 first_unary, nearfield::u32 count,
                          nearfield::u32 codebooks, nearfield::u32 target,
                          NEARFIELD_GLOBAL nearfield::u8* codes,
                          NEARFIELD_GLOBAL nearfield::u64* stale) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 vector = block_x() * kStepVectors + thread() / kLanes;
  const u64 own = static_cast<u64>(1) << target;
  const u64 before = vector < count ? stale[vector] : 0;
  const bool asked = (before & own) != 0;
  if (nearfield::device::ballot(asked) == 0) return;  // CUDA has one of that name too
  NEARFIELD_GLOBAL nearfield::u8* const own_codes = codes + static_cast<u64>(vector) * codebooks;
  CodeSums sums;
  NEARFIELD_UNROLL_REGISTERS
  for (u32 i = 0; i < kOwnWords; ++i) sums.lower[i] = sums.upper[i] = 0;
  if (asked) {
    add_row(unaries + first_unary + static_cast<u64>(vector) * kRowWords, sums);
    for (u32 slot = 0; slot + 1 < codebooks; ++slot) {
      const u32 other = slot + (slot >= target ? 1 : 0);
      const u32 row = slot * kCodewords + own_codes[other];
      add_row(pairs + first_pair + static_cast<u64>(row) * kRowWords, sums);
    }
  }
  const u32 code = smallest_of(sums) & 0xFFFF;
  if (!asked || thread() % kLanes != 0) return;
  const bool changed = code != own_codes[target];
  own_codes[target] = static_cast<nearfield::u8>(code);
  stale[vector] = changed ? ~own : before & ~own;
}
