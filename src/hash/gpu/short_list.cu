// Rows that are in the buckets of a query, each once: of tables that the device has, or of lists
// that the host has cut out of them. And the vectors of such rows, one after the other.
#include "distance/gpu/pair_list.h"

namespace nearfield::device {
namespace {

// Those that are asked for, of all there are.
struct AskedRows {
  u32 all;
  u32 first;
  u32 count;
};

struct Buckets {
  NEARFIELD_GLOBAL const u32* starts;
  u32 count;
  NEARFIELD_GLOBAL const u32* rows;
};

// A bit for each row of each query: whether another bucket had it.
struct Marks {
  NEARFIELD_GLOBAL u32* bits;
  u32 words;      // of a query
  u32 shared_by;  // so many queries list a row once together, by the bits behind theirs; 0: each

  // Whether it is to be listed.
  NEARFIELD_INLINE bool add(u32 query, u32 row) const {
    return first_of(query, row) && (shared_by == 0 || first_of(shared_by, row));
  }
  NEARFIELD_INLINE bool first_of(u32 whose, u32 row) const {
    const u32 bit = 1u << (row % 32);
    return (or_in_global(bits + static_cast<u64>(whose) * words + row / 32, bit) & bit) == 0;
  }
};

// Some rows of a query, by a block of threads. They are listed by their number from the first that
// is asked for.
NEARFIELD_INLINE void list_rows(NEARFIELD_GLOBAL const u32* rows, u32 begin, u32 end,
                                const AskedRows& asked, u32 query, const Marks& marks,
                                const PairList& list, NEARFIELD_GLOBAL u32* wrong) {
  for (u32 i = begin + thread(); i < end; i += kThreads) {
    const u32 row = rows[i];
    if (row >= asked.all) {
      add_to_global(wrong, 1);
      continue;
    }
    const u32 at = row - asked.first;  // very large of one before it
    if (at >= asked.count) continue;
    if (marks.add(query, at)) list.add(query, at);
  }
}

NEARFIELD_INLINE void list_bucket(const Buckets& table, u32 bucket, const AskedRows& asked,
                                  u32 query, const Marks& marks, const PairList& list,
                                  NEARFIELD_GLOBAL u32* wrong) {
  const u32 begin = bucket < table.count ? table.starts[bucket] : ~0u;
  const u32 end = bucket < table.count ? table.starts[bucket + 1] : 0;
  if (begin > end || end > asked.all) {
    if (thread() == 0) add_to_global(wrong, 1);
    return;
  }
  list_rows(table.rows, begin, end, asked, query, marks, list, wrong);
}

}  // namespace
}  // namespace nearfield::device

// Of one table: bucket block_x of query block_y, of blocks_x each. marks: `words` of each query.
// wrong: what a table must not hold, of a file that was changed.
NEARFIELD_KERNEL short_list(NEARFIELD_GLOBAL const nearfield::u32* starts,
                            nearfield::u32 bucket_count,
                            NEARFIELD_GLOBAL const nearfield::u32* rows, nearfield::u32 row_count,
                            nearfield::u32 first_row, nearfield::u32 asked,
                            NEARFIELD_GLOBAL const nearfield::u32* buckets,
                            nearfield::u64 first_bucket, nearfield::u64 of_a_query,
                            NEARFIELD_GLOBAL nearfield::u32* marks, nearfield::u32 words,
                            nearfield::u32 shared_by, NEARFIELD_GLOBAL nearfield::u32* count,
                            nearfield::u32 most, NEARFIELD_GLOBAL nearfield::u64* places,
                            NEARFIELD_GLOBAL nearfield::u32* wrong) {
  using namespace nearfield::device;
  const nearfield::u32 query = block_y();
  const nearfield::u32 bucket = buckets[first_bucket + query * of_a_query + block_x()];
  list_bucket({starts, bucket_count, rows}, bucket, {row_count, first_row, asked}, query,
              {marks, words, shared_by}, {count, most, places}, wrong);
}

// Of lists, piece block_x: where it begins, how many rows it has, and whose they are. The rest is
// as above.
NEARFIELD_KERNEL list_pieces(NEARFIELD_GLOBAL const nearfield::u32* lists,
                             NEARFIELD_GLOBAL const nearfield::u32* pieces,
                             nearfield::u32 row_count, nearfield::u32 first_row,
                             nearfield::u32 asked, NEARFIELD_GLOBAL nearfield::u32* marks,
                             nearfield::u32 words, nearfield::u32 shared_by,
                             NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 most,
                             NEARFIELD_GLOBAL nearfield::u64* places,
                             NEARFIELD_GLOBAL nearfield::u32* wrong) {
  using namespace nearfield::device;
  const nearfield::u32 begin = pieces[3 * block_x()];
  const nearfield::u32 end = begin + pieces[3 * block_x() + 1];
  const nearfield::u32 query = pieces[3 * block_x() + 2];
  list_rows(lists, begin, end, {row_count, first_row, asked}, query, {marks, words, shared_by},
            {count, most, places}, wrong);
}

// Row block_x of a list, of `bytes` each. from: the first that was asked for, at `begin`.
NEARFIELD_KERNEL gather_rows(NEARFIELD_GLOBAL const nearfield::u8* from, nearfield::u64 begin,
                             nearfield::u64 stride, nearfield::u32 bytes,
                             NEARFIELD_GLOBAL const nearfield::u64* places,
                             NEARFIELD_GLOBAL nearfield::u8* to) {
  using namespace nearfield::device;
  const nearfield::u32 row = static_cast<nearfield::u32>(places[block_x()]);
  NEARFIELD_GLOBAL const nearfield::u8* const values = from + begin + row * stride;
  NEARFIELD_GLOBAL nearfield::u8* const copy = to + static_cast<nearfield::u64>(block_x()) * bytes;
  for (nearfield::u32 i = thread(); i < bytes; i += kThreads) copy[i] = values[i];
}
