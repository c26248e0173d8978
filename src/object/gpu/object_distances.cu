// Distances of objects from queries, of rows that were listed: those up to a limit are handed over.
// The arithmetic is that of number_metrics.cpp, in its order, and gives the same bits.
#include "object/gpu/listed_rows.h"

namespace nearfield::device {
namespace {

constexpr u32 kLetters = 128;  // of ASCII
constexpr u32 kPatternWords = 4;
constexpr u32 kWordBits = 64;

NEARFIELD_INLINE double distance_between(double x, double y) { return x < y ? y - x : x - y; }

// power: 1, 2, or 0 for the largest difference. NaN where a difference is.
NEARFIELD_INLINE double lp_distance(NEARFIELD_GLOBAL const double* a,
                                    NEARFIELD_GLOBAL const double* b, u32 cols, u32 power) {
  double largest = 0;
  for (u32 i = 0; i < cols; ++i) {
    const double difference = distance_between(a[i], b[i]);
    if (largest < difference || difference != difference) largest = difference;
  }
  if (largest == 0 || power == 0) return largest;
  double sum = 0;
  for (u32 i = 0; i < cols; ++i) {
    const double part = distance_between(a[i], b[i]) / largest;
    sum += power == 1 ? part : part * part;
  }
  return largest * (power == 1 ? sum : sqrt(sum));
}

// By Myers: of each symbol of the pattern, in which places it stands; a column of the table as its
// differences from a place to the next. -1 where the text is not all ASCII.
NEARFIELD_INLINE double edit_distance(NEARFIELD_GLOBAL const u64* places, u32 stride, u32 symbols,
                                      NEARFIELD_GLOBAL const u8* text, u32 length) {
  u64 rises[kPatternWords];
  u64 falls[kPatternWords];
  NEARFIELD_UNROLL_REGISTERS
  for (u32 w = 0; w < kPatternWords; ++w) {
    rises[w] = ~static_cast<u64>(0);
    falls[w] = 0;
  }
  const u32 words = (symbols + kWordBits - 1) / kWordBits;
  i32 distance = static_cast<i32>(symbols);
  for (u32 i = 0; i < length; ++i) {
    const u32 letter = text[i];
    if (letter >= kLetters) return -1;
    i32 step = 1;  // of the row above a word, from the column before
    NEARFIELD_UNROLL_REGISTERS
    for (u32 w = 0; w < kPatternWords; ++w) {
      if (w >= words) continue;
      const u64 equal = places[letter * stride + w];
      const u64 vertical = equal | falls[w];
      const u64 match = equal | (step < 0 ? 1 : 0);
      const u64 across = (((match & rises[w]) + rises[w]) ^ rises[w]) | match;
      u64 up = falls[w] | ~(across | rises[w]);
      u64 down = rises[w] & across;
      const u32 last = w + 1 == words ? (symbols - 1) % kWordBits : kWordBits - 1;
      const i32 next = static_cast<i32>(up >> last & 1) - static_cast<i32>(down >> last & 1);
      up = up << 1 | (step > 0 ? 1 : 0);
      down = down << 1 | (step < 0 ? 1 : 0);
      rises[w] = down | ~(vertical | up);
      falls[w] = up & vertical;
      step = next;
    }
    distance += step;
  }
  return distance;
}

}  // namespace
}  // namespace nearfield::device

// Of vectors, whose bytes lie from ends[i] to ends[i + 1]; rows are those from first_row on, others
// are passed over. -1 of vectors of different sizes.
NEARFIELD_KERNEL number_distances(
    NEARFIELD_GLOBAL const nearfield::u32* rows, NEARFIELD_GLOBAL const nearfield::u32* starts,
    NEARFIELD_GLOBAL const nearfield::u32* requests, NEARFIELD_GLOBAL const double* most,
    nearfield::u32 first_request, nearfield::u32 part_begin, nearfield::u32 part_end,
    NEARFIELD_GLOBAL const double* queries, NEARFIELD_GLOBAL const nearfield::u32* query_ends,
    NEARFIELD_GLOBAL const double* vectors, NEARFIELD_GLOBAL const nearfield::u32* ends,
    nearfield::u32 first_row, nearfield::u32 row_count, nearfield::u32 power,
    NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 room,
    NEARFIELD_GLOBAL nearfield::u64* places, NEARFIELD_GLOBAL double* keys) {
  using namespace nearfield::device;
  using nearfield::u32;
  const ListedRows listed =
      listed_rows(rows, starts, requests, most, first_request, part_begin, part_end);
  const FoundPairs found{{count, room, places}, keys};
  const u32 begin = query_ends[listed.query];
  const u32 bytes = query_ends[listed.query + 1] - begin;
  NEARFIELD_GLOBAL const double* const query = queries + begin / sizeof(double);
  for (u32 i = listed.begin + block_x() * kThreads + thread(); i < listed.end;
       i += blocks_x() * kThreads) {
    const u32 row = rows[i] - first_row;  // very large of one before it
    if (row >= row_count) continue;
    double distance = -1;
    if (ends[row + 1] - ends[row] == bytes) {
      distance =
          lp_distance(query, vectors + ends[row] / sizeof(double), bytes / sizeof(double), power);
    }
    found.take(listed, rows[i], distance);
  }
}

// Of texts, the i-th of which is from ends[i] to ends[i + 1]. Of a query: where its symbols stand,
// `stride` words for each letter, and how many they are: ~0 where these are too many for a kernel.
NEARFIELD_KERNEL edit_distances(
    NEARFIELD_GLOBAL const nearfield::u32* rows, NEARFIELD_GLOBAL const nearfield::u32* starts,
    NEARFIELD_GLOBAL const nearfield::u32* requests, NEARFIELD_GLOBAL const double* most,
    nearfield::u32 first_request, nearfield::u32 part_begin, nearfield::u32 part_end,
    NEARFIELD_GLOBAL const nearfield::u64* patterns, nearfield::u32 stride,
    NEARFIELD_GLOBAL const nearfield::u32* symbols, NEARFIELD_GLOBAL const nearfield::u8* texts,
    NEARFIELD_GLOBAL const nearfield::u32* ends, nearfield::u32 first_row, nearfield::u32 row_count,
    NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 room,
    NEARFIELD_GLOBAL nearfield::u64* places, NEARFIELD_GLOBAL double* keys) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const ListedRows listed =
      listed_rows(rows, starts, requests, most, first_request, part_begin, part_end);
  const FoundPairs found{{count, room, places}, keys};
  const u32 own = symbols[listed.query];
  NEARFIELD_GLOBAL const u64* const pattern =
      patterns + static_cast<u64>(listed.query) * stride * kLetters;
  for (u32 i = listed.begin + block_x() * kThreads + thread(); i < listed.end;
       i += blocks_x() * kThreads) {
    const u32 row = rows[i] - first_row;  // very large of one before it
    if (row >= row_count) continue;
    double distance = -1;
    if (own != ~0u) {
      distance = edit_distance(pattern, stride, own, texts + ends[row], ends[row + 1] - ends[row]);
    }
    found.take(listed, rows[i], distance);
  }
}
