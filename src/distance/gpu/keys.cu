// The definition of a key, on a device: any metric, any type. A new metric is one more module of
// this file: -DNEARFIELD_METRIC=name.
#include "distance/gpu/key_bound.h"
#include "distance/gpu/key_square.h"

namespace nearfield::device {
namespace {

// A pair has as many threads as a key has partial sums; key_step.cpp counts with them.
constexpr u32 kPairThreads = 8;
constexpr u32 kPairs = kThreads / kPairThreads;

// The key of a pair, which the first of its threads is told. All threads of a warp come here: those
// without a pair have no values.
NEARFIELD_INLINE double pair_key(const M& metric, NEARFIELD_GLOBAL const u8* query, u32 query_type,
                                 NEARFIELD_GLOBAL const u8* row, u32 row_type, u32 values) {
  Number own[M::sums] = {};
  for (u32 i = thread() % kPairThreads; i < values; i += kPairThreads) {
    metric.template accumulate<Number>(own, Read::load(query, i, query_type),
                                       Read::load(row, i, row_type));
  }
  double totals[M::sums];
#pragma unroll
  for (u32 s = 0; s < M::sums; ++s) {
    totals[s] = static_cast<double>(own[s]);
#pragma unroll
    for (u32 mask = kPairThreads / 2; mask > 0; mask /= 2) {  // combine_tree
      totals[s] = M::template combine<double>(totals[s], shuffle_xor(totals[s], mask));
    }
  }
  return key_from_totals<M>(totals);
}

// The keys of this block's share of the rows with few queries, pair by pair: use(query, row, key).
template <class Use>
NEARFIELD_INLINE void make_few_keys(const Rows& queries, const Rows& rows, double p,
                                    const Use& use) {
  const M metric = metric_with<M>(p, 0);
  const u32 row = block_x() * kPairs + thread() / kPairThreads;
  const bool is_row = row < rows.count;
  for (u32 query = 0; query < queries.count; ++query) {
    const double key =
        pair_key(metric, queries.bytes + query * queries.stride, queries.stored,
                 rows.bytes + row * rows.stride, rows.stored, is_row ? Read::count(rows.width) : 0);
    if (is_row && thread() % kPairThreads == 0) use(query, row, key);
  }
}

// The keys of the square of this block: use(query, row, key).
template <class Use>
NEARFIELD_INLINE void make_keys(const Rows& queries, const Rows& rows, double p,
                                const Pieces& pieces, const Use& use) {
  const u32 first_query = block_y() * kSide;
  const u32 first_row = block_x() * kSide;
  const SquareKeys keys = square_keys(queries, first_query, rows, first_row, p, pieces);
  const u32 row = first_row + keys.row;
  for (u32 i = 0; i < kEach; ++i) {
    const u32 query = first_query + keys.query + i;
    if (query < queries.count && row < rows.count) use(query, row, keys.at[i]);
  }
}

struct ToMatrix {
  NEARFIELD_GLOBAL double* keys;
  u32 row_count;

  NEARFIELD_INLINE void operator()(u32 query, u32 row, double key) const {
    keys[static_cast<u64>(query) * row_count + row] = key;
  }
};

struct ToBounds {
  NEARFIELD_GLOBAL float* bounds;
  u32 row_count;

  NEARFIELD_INLINE void operator()(u32 query, u32 row, double key) const {
    bounds[static_cast<u64>(query) * row_count + row] = bound_of(key);
  }
};

NEARFIELD_INLINE void make_pair_keys(const Rows& queries, const Rows& rows, double p,
                                     NEARFIELD_GLOBAL const u64* places, u32 count,
                                     NEARFIELD_GLOBAL double* keys) {
  const M metric = metric_with<M>(p, 0);
  for (u32 first = block_x() * kPairs; first < count; first += blocks_x() * kPairs) {
    const u32 at = first + thread() / kPairThreads;
    const bool is_pair = at < count;
    const u64 place = is_pair ? places[at] : 0;
    const double key =
        pair_key(metric, queries.bytes + static_cast<u32>(place >> 32) * queries.stride,
                 queries.stored, rows.bytes + static_cast<u32>(place) * rows.stride, rows.stored,
                 is_pair ? Read::count(rows.width) : 0);
    if (is_pair && thread() % kPairThreads == 0) keys[at] = key;
  }
}

}  // namespace
}  // namespace nearfield::device

NEARFIELD_KERNEL keys(NEARFIELD_KEY_VECTORS, NEARFIELD_GLOBAL double* found) {
  NEARFIELD_KEY_PIECES(query_piece, row_piece);
  nearfield::device::make_keys(NEARFIELD_KEY_SETS, {query_piece, row_piece},
                               nearfield::device::ToMatrix{found, row_count});
}

NEARFIELD_KERNEL few_keys(NEARFIELD_KEY_VECTORS, NEARFIELD_GLOBAL double* found) {
  nearfield::device::make_few_keys(NEARFIELD_KEY_SETS,
                                   nearfield::device::ToMatrix{found, row_count});
}

// The same as float32 that are not below the keys.
NEARFIELD_KERNEL key_bounds(NEARFIELD_KEY_VECTORS, NEARFIELD_GLOBAL float* found) {
  NEARFIELD_KEY_PIECES(query_piece, row_piece);
  nearfield::device::make_keys(NEARFIELD_KEY_SETS, {query_piece, row_piece},
                               nearfield::device::ToBounds{found, row_count});
}

NEARFIELD_KERNEL few_key_bounds(NEARFIELD_KEY_VECTORS, NEARFIELD_GLOBAL float* found) {
  nearfield::device::make_few_keys(NEARFIELD_KEY_SETS,
                                   nearfield::device::ToBounds{found, row_count});
}

// Of these, the keys up to the threshold of their query.
NEARFIELD_KERNEL close_keys(NEARFIELD_KEY_VECTORS, NEARFIELD_GLOBAL const double* thresholds,
                            NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 most,
                            NEARFIELD_GLOBAL nearfield::u64* places,
                            NEARFIELD_GLOBAL double* found) {
  NEARFIELD_KEY_PIECES(query_piece, row_piece);
  nearfield::device::make_keys(NEARFIELD_KEY_SETS, {query_piece, row_piece},
                               nearfield::device::ToList{thresholds, {count, most, places}, found});
}

NEARFIELD_KERNEL close_few_keys(NEARFIELD_KEY_VECTORS, NEARFIELD_GLOBAL const double* thresholds,
                                NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 most,
                                NEARFIELD_GLOBAL nearfield::u64* places,
                                NEARFIELD_GLOBAL double* found) {
  nearfield::device::make_few_keys(
      NEARFIELD_KEY_SETS, nearfield::device::ToList{thresholds, {count, most, places}, found});
}

// Of the pairs in a list, in whose places queries and rows are numbered from these bytes on.
NEARFIELD_KERNEL pair_keys(NEARFIELD_GLOBAL const nearfield::u8* queries,
                           nearfield::u64 query_begin, nearfield::u64 query_stride,
                           nearfield::u32 query_type, NEARFIELD_GLOBAL const nearfield::u8* rows,
                           nearfield::u64 row_begin, nearfield::u64 row_stride,
                           nearfield::u32 row_type, nearfield::u32 width, double p,
                           NEARFIELD_GLOBAL const nearfield::u32* count, nearfield::u32 most,
                           NEARFIELD_GLOBAL const nearfield::u64* places,
                           NEARFIELD_GLOBAL double* found) {
  const nearfield::u32 listed = *count < most ? *count : most;
  nearfield::device::make_pair_keys({queries + query_begin, query_stride, 0, width, query_type},
                                    {rows + row_begin, row_stride, 0, width, row_type}, p, places,
                                    listed, found);
}
