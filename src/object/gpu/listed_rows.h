// Rows that were listed for queries, and the pairs that their distances make of them.
#pragma once

#include "distance/gpu/pair_list.h"

namespace nearfield::device {

constexpr u32 kRequestWords = 3;  // the query first, as level_lists.cu has them

// Lists of rows, one behind the other, of requests from the first on. Request block_y of these, and
// of its list a part.
struct ListedRows {
  NEARFIELD_GLOBAL const u32* rows;
  u32 begin;
  u32 end;
  u32 query;
  double most;
};

NEARFIELD_INLINE ListedRows listed_rows(NEARFIELD_GLOBAL const u32* rows,
                                        NEARFIELD_GLOBAL const u32* starts,
                                        NEARFIELD_GLOBAL const u32* requests,
                                        NEARFIELD_GLOBAL const double* most, u32 first,
                                        u32 part_begin, u32 part_end) {
  const u32 request = first + block_y();
  const u32 begin = starts[request] - starts[first];
  const u32 size = starts[request + 1] - starts[request];
  return {rows, begin + (part_begin < size ? part_begin : size),
          begin + (part_end < size ? part_end : size), requests[kRequestWords * request],
          most[request]};
}

struct FoundPairs {
  PairList list;
  NEARFIELD_GLOBAL double* keys;

  // So written, it takes what is no number: the host says of whom.
  NEARFIELD_INLINE void take(const ListedRows& listed, u32 row, double key) const {
    if (key > listed.most) return;
    const u32 at = list.add(block_y(), row);
    if (at < list.most) keys[at] = key;
  }
};

}  // namespace nearfield::device
