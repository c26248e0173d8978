// Keys and the first of them in one kernel (the fused kernel of seed: Hanák 2023, section 4.2), for
// vectors so short that a matrix of keys would take longer to write than to compute.
// -DNEARFIELD_METRIC=name.
//
// A block has kSide queries and a part of the rows, a square of keys at a time. Of each query it
// keeps the first kMostFirst in order, and behind them room for as many that may come before; where
// that is full, both are sorted. Keys are float64 and ties go by the number of the row: what is
// left out is not among the first, whatever rounding is.
//
// With pieces of 16 values it takes 29,184 bytes of a block's memory, of 32,768 that every OpenCL
// device has.
#define NEARFIELD_KEY_PIECE 16
#include "distance/gpu/key_square.h"

namespace nearfield::device {
namespace {

constexpr u32 kMostFirst = 64;  // as in distance/gpu/key_step.hpp
constexpr u32 kListed = 2 * kMostFirst;
constexpr u32 kNoRow = 0xFFFFFFFF;

// Of the queries of a block.
struct FirstLists {
  NEARFIELD_SHARED double (*keys)[kListed];
  NEARFIELD_SHARED u32 (*rows)[kListed];
  NEARFIELD_SHARED u32* added;        // behind the first, or have tried
  NEARFIELD_SHARED double* last_key;  // what does not come before is of no use
  NEARFIELD_SHARED u32* last_row;
};

NEARFIELD_INLINE bool comes_before(double key, u32 row, double other_key, u32 other_row) {
  return key < other_key || (key == other_key && row < other_row);
}

NEARFIELD_INLINE void clear(const FirstLists& lists, u32 query, u32 place) {
  lists.keys[query][place] = double_of(static_cast<u64>(0x7FF) << 52);
  lists.rows[query][place] = kNoRow;
}

// NaN, which nothing comes before, where there is no such query.
NEARFIELD_INLINE void start_lists(const FirstLists& lists,
                                  NEARFIELD_GLOBAL const double* thresholds, u32 first_query,
                                  u32 query_count) {
  for (u32 i = thread(); i < kSide * kMostFirst; i += kThreads) {
    clear(lists, i / kMostFirst, i % kMostFirst);
  }
  for (u32 query = thread(); query < kSide; query += kThreads) {
    lists.added[query] = 0;
    lists.last_key[query] = first_query + query < query_count
                                ? thresholds[first_query + query]
                                : double_of(static_cast<u64>(0x7FF8) << 48);
    lists.last_row[query] = kNoRow;
  }
  sync();
}

// A step of a bitonic sort of each list: blocks of `size` in turn upwards and downwards.
NEARFIELD_INLINE void sort_step(const FirstLists& lists, u32 size, u32 stride) {
  for (u32 i = thread(); i < kSide * kMostFirst; i += kThreads) {
    const u32 query = i / kMostFirst;
    const u32 pair = i % kMostFirst;
    const u32 a = 2 * pair - (pair & (stride - 1));
    const u32 b = a + stride;
    const double key_a = lists.keys[query][a];
    const double key_b = lists.keys[query][b];
    const u32 row_a = lists.rows[query][a];
    const u32 row_b = lists.rows[query][b];
    const bool upwards = (a & size) == 0;
    if (upwards ? comes_before(key_b, row_b, key_a, row_a)
                : comes_before(key_a, row_a, key_b, row_b)) {
      lists.keys[query][a] = key_b;
      lists.keys[query][b] = key_a;
      lists.rows[query][a] = row_b;
      lists.rows[query][b] = row_a;
    }
  }
  sync();
}

// Puts what was added among the first, `count` of which are wanted. 28 steps, each of 4 exchanges a
// thread: after the first thousand rows of a query hardly any more.
NEARFIELD_INLINE void merge_added(const FirstLists& lists, u32 count) {
  for (u32 i = thread(); i < kSide * kMostFirst; i += kThreads) {
    const u32 query = i / kMostFirst;
    if (i % kMostFirst >= lists.added[query]) clear(lists, query, kMostFirst + i % kMostFirst);
  }
  sync();
// Loops: unrolled, the 28 steps are as many times the code.
#pragma unroll 1
  for (u32 size = 2; size <= kListed; size *= 2) {
#pragma unroll 1
    for (u32 stride = size / 2; stride > 0; stride /= 2) sort_step(lists, size, stride);
  }
  for (u32 query = thread(); query < kSide; query += kThreads) {
    lists.added[query] = 0;
    if (lists.rows[query][count - 1] != kNoRow) {
      lists.last_key[query] = lists.keys[query][count - 1];
      lists.last_row[query] = lists.rows[query][count - 1];
    }
  }
  sync();
}

NEARFIELD_INLINE bool is_finite(double key) {
  const double infinity = double_of(static_cast<u64>(0x7FF) << 52);
  return key > -infinity && key < infinity;
}

// All threads. Keys that are not finite are for the host to settle: they go to the list of pairs.
NEARFIELD_INLINE void offer(const FirstLists& lists, const SquareKeys& keys, u32 first_query,
                            const Rows& queries, u32 row, const Rows& rows, u32 count,
                            const ToList& to_list) {
  bool open[kEach];
  for (u32 i = 0; i < kEach; ++i) {
    const bool is_there = first_query + keys.query + i < queries.count && row < rows.count;
    open[i] = is_there && is_finite(keys.at[i]);
    if (is_there && !open[i]) to_list(first_query + keys.query + i, row, keys.at[i]);
  }
  for (bool full = true; full;) {
    bool waits = false;
    for (u32 i = 0; i < kEach; ++i) {
      const u32 query = keys.query + i;
      if (open[i] && comes_before(keys.at[i], row, lists.last_key[query], lists.last_row[query])) {
        const u32 slot = add_to_shared(lists.added + query, 1);
        if (slot < kMostFirst) {
          lists.keys[query][kMostFirst + slot] = keys.at[i];
          lists.rows[query][kMostFirst + slot] = row;
          open[i] = false;
        } else {
          waits = true;
        }
      }
    }
    full = sync_any(waits);
    if (full) merge_added(lists, count);
  }
}

// Rows of part `block_x`, from a square to another.
NEARFIELD_INLINE void find_first(const Rows& queries, const Rows& rows, double p, u32 count,
                                 const ToList& to_list, const FirstLists& lists,
                                 const Pieces& pieces) {
  const u32 first_query = block_y() * kSide;
  const u32 squares = (rows.count + kSide - 1) / kSide;
  const u32 each = (squares + blocks_x() - 1) / blocks_x();
  const u32 begin = block_x() * each;
  const u32 end = begin + each < squares ? begin + each : squares;
  start_lists(lists, to_list.thresholds, first_query, queries.count);
  for (u32 square = begin; square < end; ++square) {
    const SquareKeys keys = square_keys(queries, first_query, rows, square * kSide, p, pieces);
    offer(lists, keys, first_query, queries, square * kSide + keys.row, rows, count, to_list);
  }
  merge_added(lists, count);
  for (u32 i = thread(); i < kSide * count; i += kThreads) {
    const u32 query = i / count;
    const u32 place = i - query * count;
    const u32 row = lists.rows[query][place];
    if (row != kNoRow) to_list.add(first_query + query, row, lists.keys[query][place]);
  }
}

}  // namespace
}  // namespace nearfield::device

// Of each query, and of each part of the rows, the first `first` keys up to its threshold.
NEARFIELD_KERNEL first_keys(NEARFIELD_KEY_VECTORS, nearfield::u32 first,
                            NEARFIELD_GLOBAL const double* thresholds,
                            NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 most,
                            NEARFIELD_GLOBAL nearfield::u64* places,
                            NEARFIELD_GLOBAL double* found) {
  NEARFIELD_KEY_PIECES(query_piece, row_piece);
  NEARFIELD_BLOCK double keys[nearfield::device::kSide][nearfield::device::kListed];
  NEARFIELD_BLOCK nearfield::u32 numbers[nearfield::device::kSide][nearfield::device::kListed];
  NEARFIELD_BLOCK nearfield::u32 added[nearfield::device::kSide];
  NEARFIELD_BLOCK double last_key[nearfield::device::kSide];
  NEARFIELD_BLOCK nearfield::u32 last_row[nearfield::device::kSide];
  nearfield::device::find_first(
      NEARFIELD_KEY_SETS, first, {thresholds, {count, most, places}, found},
      {keys, numbers, added, last_key, last_row}, {query_piece, row_piece});
}
