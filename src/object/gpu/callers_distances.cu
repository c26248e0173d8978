// Distances by a function of the caller's, which is not here: the driver compiles it, and links it
// to this kernel.
#include "object/gpu/listed_rows.h"

extern "C" double nearfield_distance(NEARFIELD_GLOBAL const nearfield::u8* a,
                                     nearfield::u32 a_bytes,
                                     NEARFIELD_GLOBAL const nearfield::u8* b,
                                     nearfield::u32 b_bytes);

// Of objects, the i-th of which is from ends[i] to ends[i + 1]; rows are those from first_row on,
// others are passed over.
NEARFIELD_KERNEL callers_distances(
    NEARFIELD_GLOBAL const nearfield::u32* rows, NEARFIELD_GLOBAL const nearfield::u32* starts,
    NEARFIELD_GLOBAL const nearfield::u32* requests, NEARFIELD_GLOBAL const double* most,
    nearfield::u32 first_request, nearfield::u32 part_begin, nearfield::u32 part_end,
    NEARFIELD_GLOBAL const nearfield::u8* queries,
    NEARFIELD_GLOBAL const nearfield::u32* query_ends,
    NEARFIELD_GLOBAL const nearfield::u8* objects, NEARFIELD_GLOBAL const nearfield::u32* ends,
    nearfield::u32 first_row, nearfield::u32 row_count, NEARFIELD_GLOBAL nearfield::u32* count,
    nearfield::u32 room, NEARFIELD_GLOBAL nearfield::u64* places, NEARFIELD_GLOBAL double* keys) {
  using namespace nearfield::device;
  using nearfield::u32;
  const ListedRows listed =
      listed_rows(rows, starts, requests, most, first_request, part_begin, part_end);
  const FoundPairs found{{count, room, places}, keys};
  const u32 begin = query_ends[listed.query];
  const u32 bytes = query_ends[listed.query + 1] - begin;
  for (u32 i = listed.begin + block_x() * kThreads + thread(); i < listed.end;
       i += blocks_x() * kThreads) {
    const u32 row = rows[i] - first_row;  // very large of one before it
    if (row >= row_count) continue;
    found.take(
        listed, rows[i],
        nearfield_distance(queries + begin, bytes, objects + ends[row], ends[row + 1] - ends[row]));
  }
}
