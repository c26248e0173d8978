// Rows that are in the buckets of a query, each once.
#include "distance/gpu/pair_list.h"

namespace nearfield::device {
namespace {

struct Buckets {
  NEARFIELD_GLOBAL const u32* starts;
  u32 count;
  NEARFIELD_GLOBAL const u32* rows;
  u32 row_count;
  // Those that are asked for.
  u32 first_row;
  u32 asked;
};

// A bit for each row of each query says whether another bucket had it. Rows are listed by their
// number from the first that is asked for.
NEARFIELD_INLINE void list_bucket(const Buckets& table, u32 bucket, u32 query,
                                  NEARFIELD_GLOBAL u32* marks, const PairList& list,
                                  NEARFIELD_GLOBAL u32* wrong) {
  const u32 begin = bucket < table.count ? table.starts[bucket] : ~0u;
  const u32 end = bucket < table.count ? table.starts[bucket + 1] : 0;
  if (begin > end || end > table.row_count) {
    if (thread() == 0) add_to_global(wrong, 1);
    return;
  }
  for (u32 i = begin + thread(); i < end; i += kThreads) {
    const u32 row = table.rows[i];
    if (row >= table.row_count) {
      add_to_global(wrong, 1);
      continue;
    }
    const u32 at = row - table.first_row;  // very large of one before it
    if (at >= table.asked) continue;
    const u32 bit = 1u << (at % 32);
    if ((or_in_global(marks + at / 32, bit) & bit) == 0) list.add(query, at);
  }
}

}  // namespace
}  // namespace nearfield::device

// Of one table: bucket block_x of query block_y, of blocks_x each. marks: `words` of each query.
// wrong: what a table must not hold, of a file that was changed.
NEARFIELD_KERNEL short_list(
    NEARFIELD_GLOBAL const nearfield::u32* starts, nearfield::u32 bucket_count,
    NEARFIELD_GLOBAL const nearfield::u32* rows, nearfield::u32 row_count, nearfield::u32 first_row,
    nearfield::u32 asked, NEARFIELD_GLOBAL const nearfield::u32* buckets,
    nearfield::u64 first_bucket, nearfield::u64 of_a_query, NEARFIELD_GLOBAL nearfield::u32* marks,
    nearfield::u32 words, NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 most,
    NEARFIELD_GLOBAL nearfield::u64* places, NEARFIELD_GLOBAL nearfield::u32* wrong) {
  using namespace nearfield::device;
  const nearfield::u32 query = block_y();
  const nearfield::u32 bucket = buckets[first_bucket + query * of_a_query + block_x()];
  list_bucket({starts, bucket_count, rows, row_count, first_row, asked}, bucket, query,
              marks + static_cast<nearfield::u64>(query) * words, {count, most, places}, wrong);
}
