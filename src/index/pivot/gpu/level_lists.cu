// Rows by their lower bounds: how many there are of each level, and those of some levels, listed in
// their order by counting, summing up and filling.
#include "index/pivot/gpu/row_levels.h"
#include "select/gpu/block_order.h"

namespace nearfield::device {
namespace {

constexpr u32 kLevelCount = 256;

// A request: the query; the lowest and the highest level 8 bits above it; and the first row.
constexpr u32 kRequestWords = 3;

struct Request {
  u32 query;
  u32 low;
  u32 high;
  u32 first_row;
};

NEARFIELD_INLINE Request request_at(NEARFIELD_GLOBAL const u32* requests, u32 i) {
  NEARFIELD_GLOBAL const u32* const own = requests + kRequestWords * i;
  return {own[0], own[1] & 0xFF, own[1] >> 8, own[2]};
}

// Of four rows, which are called by their number and first_row, any may be asked for.
NEARFIELD_INLINE bool may_be_asked(const Request& request, u32 word, u32 rows, u32 first_row) {
  const u32 row = word * kRowsOfAWord;
  return row < rows && first_row + row + kRowsOfAWord > request.first_row;
}

// Bit i: the i-th of four rows is asked for.
NEARFIELD_INLINE u32 asked_rows(const FourLevels& levels, const Request& request, u32 word,
                                u32 rows, u32 first_row) {
  u32 asked = 0;
  for (u32 i = 0; i < kRowsOfAWord; ++i) {
    const u32 level = levels.of[i];
    const u32 row = word * kRowsOfAWord + i;
    const bool in = level >= request.low && level <= request.high && row < rows &&
                    first_row + row >= request.first_row;
    asked |= (in ? 1u : 0u) << i;
  }
  return asked;
}

}  // namespace
}  // namespace nearfield::device

// Adds to the numbers of each level of query block_y.
NEARFIELD_KERNEL count_levels(NEARFIELD_GLOBAL const nearfield::u32* blocks, nearfield::u32 words,
                              nearfield::u32 slots, nearfield::u32 numbered,
                              NEARFIELD_GLOBAL const nearfield::u64* row_letters,
                              nearfield::u32 has_letters, nearfield::u32 rows,
                              NEARFIELD_GLOBAL const nearfield::u16* reaches,
                              NEARFIELD_GLOBAL const nearfield::u64* letters,
                              NEARFIELD_GLOBAL nearfield::u32* counts) {
  using namespace nearfield::device;
  using nearfield::u32;
  NEARFIELD_BLOCK u32 shared[kPool];
  NEARFIELD_BLOCK u32 own[kLevelCount];
  for (u32 i = thread(); i < kLevelCount; i += kThreads) own[i] = 0;
  const AskedQuery query = load_query(reaches, letters, block_y(), shared);
  const KeptRows kept{blocks, words, slots, numbered, row_letters, has_letters};
  const u32 word_count = (rows + kRowsOfAWord - 1) / kRowsOfAWord;
  for (u32 word = block_x() * kThreads + thread(); word < word_count;
       word += blocks_x() * kThreads) {
    const FourLevels levels = row_levels(kept, query, word);
    for (u32 i = 0; i < kRowsOfAWord; ++i) {
      if (word * kRowsOfAWord + i < rows) add_to_shared(own + levels.of[i], 1);
    }
  }
  sync();
  NEARFIELD_GLOBAL u32* const all = counts + static_cast<nearfield::u64>(block_y()) * kLevelCount;
  for (u32 i = thread(); i < kLevelCount; i += kThreads) {
    if (own[i] != 0) add_to_global(all + i, own[i]);
  }
}

// Of request block_y, how many of the rows of a block of threads are asked for, four of a thread.
// Of `chunks` for each request, those from first_chunk on. Rows are called by their number and
// first_row.
NEARFIELD_KERNEL count_rows(NEARFIELD_GLOBAL const nearfield::u32* blocks, nearfield::u32 words,
                            nearfield::u32 slots, nearfield::u32 numbered,
                            NEARFIELD_GLOBAL const nearfield::u64* row_letters,
                            nearfield::u32 has_letters, nearfield::u32 rows,
                            NEARFIELD_GLOBAL const nearfield::u16* reaches,
                            NEARFIELD_GLOBAL const nearfield::u64* letters,
                            NEARFIELD_GLOBAL const nearfield::u32* requests, nearfield::u32 chunks,
                            nearfield::u32 first_chunk, nearfield::u32 first_row,
                            NEARFIELD_GLOBAL nearfield::u32* counts) {
  using namespace nearfield::device;
  using nearfield::u32;
  NEARFIELD_BLOCK u32 shared[kPool];
  NEARFIELD_BLOCK u32 total;
  if (thread() == 0) total = 0;
  const Request request = request_at(requests, block_y());
  const AskedQuery query = load_query(reaches, letters, request.query, shared);
  const KeptRows kept{blocks, words, slots, numbered, row_letters, has_letters};
  const u32 word = block_x() * kThreads + thread();
  if (may_be_asked(request, word, rows, first_row)) {
    const u32 asked = asked_rows(row_levels(kept, query, word), request, word, rows, first_row);
    if (asked != 0) add_to_shared(&total, ones(asked));
  }
  sync();
  if (thread() == 0) {
    counts[static_cast<nearfield::u64>(block_y()) * chunks + first_chunk + block_x()] = total;
  }
}

// Of request block_x: each count becomes the sum of those before it, and of all the total.
NEARFIELD_KERNEL sum_counts(NEARFIELD_GLOBAL nearfield::u32* counts, nearfield::u32 chunks,
                            NEARFIELD_GLOBAL nearfield::u32* totals) {
  using namespace nearfield::device;
  using nearfield::u32;
  NEARFIELD_BLOCK u32 sums[kThreads];
  NEARFIELD_BLOCK u32 all;
  NEARFIELD_GLOBAL u32* const own = counts + static_cast<nearfield::u64>(block_x()) * chunks;
  u32 before = 0;
  for (u32 first = 0; first < chunks; first += kThreads) {
    const u32 chunk = first + thread();
    const u32 count = chunk < chunks ? own[chunk] : 0;
    const u32 sum = sum_before(count, sums);
    if (chunk < chunks) own[chunk] = before + sum;
    if (thread() == kThreads - 1) all = sum + count;
    sync();
    before += all;
    sync();
  }
  if (thread() == 0) totals[block_x()] = before;
}

// Of request first_request + block_y: the rows of a block of threads, where the sums say; those of
// `starts` are of the requests, which begin with the first. Rows are called by their number and
// first_row.
NEARFIELD_KERNEL list_rows(
    NEARFIELD_GLOBAL const nearfield::u32* blocks, nearfield::u32 words, nearfield::u32 slots,
    nearfield::u32 numbered, NEARFIELD_GLOBAL const nearfield::u64* row_letters,
    nearfield::u32 has_letters, nearfield::u32 rows, NEARFIELD_GLOBAL const nearfield::u16* reaches,
    NEARFIELD_GLOBAL const nearfield::u64* letters, NEARFIELD_GLOBAL const nearfield::u32* requests,
    nearfield::u32 chunks, nearfield::u32 first_chunk, NEARFIELD_GLOBAL const nearfield::u32* sums,
    NEARFIELD_GLOBAL const nearfield::u32* starts, nearfield::u32 first_request,
    nearfield::u32 first_row, NEARFIELD_GLOBAL nearfield::u32* listed,
    NEARFIELD_GLOBAL nearfield::u8* listed_levels) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  NEARFIELD_BLOCK u32 shared[kPool];
  NEARFIELD_BLOCK u32 before[kThreads];
  const u32 number = first_request + block_y();
  const Request request = request_at(requests, number);
  const AskedQuery query = load_query(reaches, letters, request.query, shared);
  const KeptRows kept{blocks, words, slots, numbered, row_letters, has_letters};
  const u32 word = block_x() * kThreads + thread();
  FourLevels levels = {{0, 0, 0, 0}};
  u32 asked = 0;
  if (may_be_asked(request, word, rows, first_row)) {
    levels = row_levels(kept, query, word);
    asked = asked_rows(levels, request, word, rows, first_row);
  }
  const u32 own = sum_before(ones(asked), before);
  const u64 of_request = static_cast<u64>(number) * chunks;
  u32 at =
      starts[number] - starts[first_request] + sums[of_request + first_chunk + block_x()] + own;
  for (u32 i = 0; i < kRowsOfAWord; ++i) {
    if ((asked >> i & 1) == 0) continue;
    listed[at] = first_row + word * kRowsOfAWord + i;
    listed_levels[at] = static_cast<nearfield::u8>(levels.of[i]);
    ++at;
  }
}
