// Of the products of bytes of product_tile.h, the first two of each query: what matching of
// descriptors asks for. They are exact, so that these are the nearest two and not two that may be.
//
// A block has a square's queries and a part of the rows, a square at a time. Warps side by side
// have the same queries: each keeps its own two in the memory of the block.
#include "device/gpu/first_two.h"
#include "distance/gpu/pair_list.h"
#include "distance/gpu/product_terms.h"

namespace nearfield::device {

constexpr u64 kNone = 0xFFFFFFFFFFFFFFFF;
constexpr u32 kSign = 0x80000000;

// By key, then by row: integers in the order of unsigned ones.
NEARFIELD_INLINE u64 item_of(i32 key, u32 row) {
  return static_cast<u64>(static_cast<u32>(key) ^ kSign) << 32 | row;
}
NEARFIELD_INLINE i32 key_of(u64 item) {
  return static_cast<i32>(static_cast<u32>(item >> 32) ^ kSign);
}

// Threads of a warp that share a query of a fragment.
constexpr u32 kSharing = kWarp > kFragment ? 2 : 1;
static_assert(kWarp <= 2 * kFragment, "all of them have work");

using TwoOfQueries = NEARFIELD_SHARED Two (*)[kTile];

// Of a query, {add, limit}; of a row what is added.
struct ToTwo {
  Vectors queries;
  Vectors rows;
  u32 tile;                                   // of the queries, its first
  NEARFIELD_GLOBAL const Terms* query_terms;  // of the block
  NEARFIELD_GLOBAL const i32* row_terms;      // of all
  i32 factor;
  TwoOfQueries two;

  // All threads of the warp.
  NEARFIELD_INLINE void operator()(u32 first_query, u32 first_row,
                                   NEARFIELD_SHARED const Sum* sums) const {
    for (u32 round = 0; round < kFragment; round += kWarp / kSharing) {
      const u32 q = round + lane() / kSharing;
      const u32 query = first_query + q;
      const bool is_there = queries.has(query);
      Two best = {kNone, kNone};
      if (is_there) best = first_two(query_terms[query - queries.first], q, first_row, sums);
      if constexpr (kSharing == 2) {
        best = first_two_of(best, {shuffle_xor(best.first, 1), shuffle_xor(best.second, 1)});
      }
      if (is_there && lane() % kSharing == 0) {
        NEARFIELD_SHARED Two* const kept = two[warp() % kWarpsAcross] + (query - tile);
        *kept = first_two_of(*kept, best);
      }
    }
  }

  // Of the sums of a query, those of this thread.
  NEARFIELD_INLINE Two first_two(const Terms& terms, u32 q, u32 first_row,
                                 NEARFIELD_SHARED const Sum* sums) const {
    Two best = {kNone, kNone};
    for (u32 i = 0; i < kFragment; i += kSharing) {
      // No two threads of a warp in a bank: queries side by side are 16 of them apart.
      const u32 r = (i + lane() % kSharing + q / 2 * kSharing) % kFragment;
      const u32 row = first_row + r;
      if (rows.has(row)) {
        const i32 key = combined(factor, sums[q * kFragment + r], terms.first, row_terms[row]);
        if (key <= terms.second) {
          best = first_two_of(best, {item_of(key, row - rows.first), kNone});
        }
      }
    }
    return best;
  }
};

// Those of part `block_y` of the rows. Queries go along x: blocks that run side by side have the
// same rows.
NEARFIELD_INLINE void find_two(const ToTwo& to, u32 pieces, const PairList& list,
                               NEARFIELD_GLOBAL double* keys, NEARFIELD_SHARED uint4* memory) {
  for (u32 i = thread(); i < kWarpsAcross * kTile; i += kThreads) {
    to.two[i / kTile][i % kTile] = Two{kNone, kNone};
  }
  const u32 tiles = (to.rows.end + kTile - 1) / kTile - to.rows.first / kTile;
  const u32 each = (tiles + blocks_y() - 1) / blocks_y();
  const u32 begin = block_y() * each;
  const u32 end = begin + each < tiles ? begin + each : tiles;
  for (u32 tile = begin; tile < end; ++tile) {
    sync();
    make_square(to.queries, to.rows, {to.tile, to.rows.tile(tile)}, pieces, memory, to);
  }
  sync();
  for (u32 i = thread(); i < kTile; i += kThreads) {
    Two best = to.two[0][i];
    for (u32 w = 1; w < kWarpsAcross; ++w) best = first_two_of(best, to.two[w][i]);
    const u64 found[2] = {best.first, best.second};
    for (u32 n = 0; n < 2; ++n) {
      if (found[n] == kNone) continue;
      const u32 at = list.add(to.tile + i - to.queries.first, static_cast<u32>(found[n]));
      if (at < list.most) keys[at] = key_of(found[n]);
    }
  }
}

}  // namespace nearfield::device

// Queries and rows from `first` to before `end`.
NEARFIELD_KERNEL two_products(
    NEARFIELD_GLOBAL const uint4* queries, nearfield::u32 first_query, nearfield::u32 query_end,
    NEARFIELD_GLOBAL const nearfield::device::Terms* query_terms,
    NEARFIELD_GLOBAL const uint4* rows, nearfield::u32 first_row, nearfield::u32 row_end,
    NEARFIELD_GLOBAL const nearfield::i32* row_terms, nearfield::u32 pieces, nearfield::i32 factor,
    NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 most,
    NEARFIELD_GLOBAL nearfield::u64* places, NEARFIELD_GLOBAL double* keys) {
  NEARFIELD_BLOCK uint4 memory[nearfield::device::kMemoryChunks];
  NEARFIELD_BLOCK nearfield::device::Two two[nearfield::device::kWarpsAcross]
                                            [nearfield::device::kTile];
  const nearfield::u32 stride = pieces * nearfield::device::kPanelChunks;
  const nearfield::device::Vectors of_queries = {queries, stride, first_query, query_end};
  nearfield::device::find_two({of_queries,
                               {rows, stride, first_row, row_end},
                               of_queries.tile(nearfield::device::block_x()),
                               query_terms,
                               row_terms,
                               factor,
                               two},
                              pieces, {count, most, places}, keys, memory);
}
