// Rows sorted into buckets: by digits of their buckets, the lowest first, each by counting, a
// prefix sum and filling. Rows that share a digit keep their order, whichever block is faster: so
// those of a bucket rise, as the CPU has them.
#include "select/gpu/block_order.h"

namespace nearfield::device {
namespace {

constexpr u32 kBucketDigits = 256;  // values of a digit
constexpr u32 kChunkRows = 4096;    // of a block

// A bucket above, its row below.
NEARFIELD_INLINE u32 bucket_in(u64 entry) { return static_cast<u32>(entry >> 32); }
NEARFIELD_INLINE u32 digit_in(u64 entry, u32 shift) {
  return (bucket_in(entry) >> shift) % kBucketDigits;
}

// Where the rows of a block's chunk end, of all.
NEARFIELD_INLINE u32 chunk_end(u32 rows) {
  const u32 begin = block_x() * kChunkRows;
  return rows - begin < kChunkRows ? rows : begin + kChunkRows;
}

// The sum of those before this thread's, of several turns of a block: `before` is that of earlier
// turns, and then of this one too.
NEARFIELD_INLINE u32 sum_of_turns(u32 own, u32& before, NEARFIELD_SHARED u32* sums,
                                  NEARFIELD_SHARED u32* of_turn) {
  const u32 sum = before + sum_before(own, sums);
  if (thread() == kThreads - 1) *of_turn = sum + own;
  sync();
  before = *of_turn;
  sync();
  return sum;
}

}  // namespace
}  // namespace nearfield::device

// An entry of each row: bit i of its bucket is the bit of the row at the i-th position.
NEARFIELD_KERNEL hash_bits(NEARFIELD_GLOBAL const nearfield::u8* rows, nearfield::u64 stride,
                           nearfield::u32 count, NEARFIELD_GLOBAL const nearfield::u32* positions,
                           nearfield::u32 bits, NEARFIELD_GLOBAL nearfield::u64* entries) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  for (u32 row = block_x() * kThreads + thread(); row < count; row += blocks_x() * kThreads) {
    NEARFIELD_GLOBAL const nearfield::u8* const values = rows + row * stride;
    u32 bucket = 0;
    for (u32 i = 0; i < bits; ++i) {
      const u32 at = positions[i];
      bucket |= (static_cast<u32>(values[at / 8]) >> at % 8 & 1) << i;
    }
    entries[row] = static_cast<u64>(bucket) << 32 | row;
  }
}

// counts: of each digit, of each chunk.
NEARFIELD_KERNEL count_digits(NEARFIELD_GLOBAL const nearfield::u64* entries, nearfield::u32 rows,
                              nearfield::u32 shift, NEARFIELD_GLOBAL nearfield::u32* counts) {
  using namespace nearfield::device;
  using nearfield::u32;
  NEARFIELD_BLOCK u32 own[kBucketDigits];
  for (u32 digit = thread(); digit < kBucketDigits; digit += kThreads) own[digit] = 0;
  sync();
  const u32 end = chunk_end(rows);
  for (u32 i = block_x() * kChunkRows + thread(); i < end; i += kThreads) {
    add_to_shared(own + digit_in(entries[i], shift), 1);
  }
  sync();
  for (u32 digit = thread(); digit < kBucketDigits; digit += kThreads) {
    counts[digit * blocks_x() + block_x()] = own[digit];
  }
}

// Of digit block_x: counts become sums of those of the chunks before, and their sum its total.
NEARFIELD_KERNEL sum_counts(NEARFIELD_GLOBAL nearfield::u32* counts, nearfield::u32 chunks,
                            NEARFIELD_GLOBAL nearfield::u32* totals) {
  using namespace nearfield::device;
  using nearfield::u32;
  NEARFIELD_BLOCK u32 sums[kThreads];
  NEARFIELD_BLOCK u32 of_turn;
  NEARFIELD_GLOBAL u32* const own = counts + block_x() * chunks;
  u32 before = 0;
  for (u32 at = 0; at < chunks; at += kThreads) {
    const u32 chunk = at + thread();
    const u32 sum = sum_of_turns(chunk < chunks ? own[chunk] : 0, before, sums, &of_turn);
    if (chunk < chunks) own[chunk] = sum;
  }
  if (thread() == 0) totals[block_x()] = before;
}

// Moves the entries of a chunk behind those of smaller digits and of earlier chunks.
NEARFIELD_KERNEL fill_digits(NEARFIELD_GLOBAL const nearfield::u64* entries, nearfield::u32 rows,
                             nearfield::u32 shift, NEARFIELD_GLOBAL const nearfield::u32* counts,
                             NEARFIELD_GLOBAL const nearfield::u32* totals,
                             NEARFIELD_GLOBAL nearfield::u64* sorted) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  NEARFIELD_BLOCK u32 sums[kThreads];
  NEARFIELD_BLOCK u32 of_turn;
  NEARFIELD_BLOCK u32 next[kBucketDigits];
  NEARFIELD_BLOCK u32 digits[kThreads];
  u32 before = 0;
  for (u32 at = 0; at < kBucketDigits; at += kThreads) {
    const u32 digit = at + thread();
    const u32 sum = sum_of_turns(digit < kBucketDigits ? totals[digit] : 0, before, sums, &of_turn);
    if (digit < kBucketDigits) next[digit] = sum + counts[digit * blocks_x() + block_x()];
  }
  sync();
  const u32 end = chunk_end(rows);
  for (u32 at = block_x() * kChunkRows; at < end; at += kThreads) {
    const u32 i = at + thread();
    const u64 entry = i < end ? entries[i] : 0;
    const u32 digit = i < end ? digit_in(entry, shift) : kBucketDigits;
    digits[thread()] = digit;
    sync();
    u32 earlier = 0;  // of those that share the digit
    u32 all = 0;
    for (u32 other = 0; other < kThreads; ++other) {
      const u32 same = digits[other] == digit ? 1 : 0;
      all += same;
      earlier += other < thread() ? same : 0;
    }
    if (i < end) sorted[next[digit] + earlier] = entry;
    sync();
    if (i < end && earlier + 1 == all) next[digit] += all;
  }
}

// Of sorted entries: where each of the buckets begins, and the last ends, and the rows.
NEARFIELD_KERNEL list_buckets(NEARFIELD_GLOBAL const nearfield::u64* entries, nearfield::u32 count,
                              nearfield::u32 buckets, NEARFIELD_GLOBAL nearfield::u32* starts,
                              NEARFIELD_GLOBAL nearfield::u32* rows) {
  using namespace nearfield::device;
  using nearfield::u32;
  for (u32 i = block_x() * kThreads + thread(); i <= count; i += blocks_x() * kThreads) {
    const u32 first = i > 0 ? bucket_in(entries[i - 1]) + 1 : 0;
    const u32 last = i < count ? bucket_in(entries[i]) : buckets;
    for (u32 bucket = first; bucket <= last; ++bucket) starts[bucket] = i;
    if (i < count) rows[i] = static_cast<u32>(entries[i]);
  }
}
