// The definition of a key, on a device: any metric, any type. A new metric is one more module of
// this file: -DNEARFIELD_METRIC=name.
#include "distance/gpu/key_bound.h"
#include "distance/gpu/key_square.h"

namespace nearfield::device {
namespace {

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

// A pair has as many threads as a key has partial sums.
constexpr u32 kPairThreads = 8;
constexpr u32 kPairs = kThreads / kPairThreads;

NEARFIELD_INLINE void make_pair_keys(const Rows& queries, const Rows& rows, double p,
                                     NEARFIELD_GLOBAL const u64* places, u32 count,
                                     NEARFIELD_GLOBAL double* keys,
                                     NEARFIELD_SHARED Number (*room)[kThreads]) {
  const M metric = metric_with<M>(p, 0);
  const u32 part = thread() % kPairThreads;
  // All threads of a block go round as often.
  for (u32 first = block_x() * kPairs; first < count; first += blocks_x() * kPairs) {
    const u32 at = first + thread() / kPairThreads;
    Number own[M::sums] = {};
    if (at < count) {
      NEARFIELD_GLOBAL const u8* const query =
          queries.bytes + static_cast<u32>(places[at] >> 32) * queries.stride;
      NEARFIELD_GLOBAL const u8* const row =
          rows.bytes + static_cast<u32>(places[at]) * rows.stride;
      for (u32 i = part; i < Read::count(rows.width); i += kPairThreads) {
        metric.template accumulate<Number>(own, Read::load(query, i, queries.stored),
                                           Read::load(row, i, rows.stored));
      }
    }
#pragma unroll
    for (u32 s = 0; s < M::sums; ++s) room[s][thread()] = own[s];
    sync();
    if (at < count && part == 0) {
      Partial all;
#pragma unroll
      for (u32 i = 0; i < 8 * M::sums; ++i) all.sums[i] = room[i / 8][thread() + i % 8];
      keys[at] = all.key();
    }
    sync();
  }
}

}  // namespace
}  // namespace nearfield::device

// Both are as wide, begin at some byte, and may be of different types.
NEARFIELD_KERNEL keys(NEARFIELD_GLOBAL const nearfield::u8* queries, nearfield::u64 query_begin,
                      nearfield::u64 query_stride, nearfield::u32 query_count,
                      nearfield::u32 query_type, NEARFIELD_GLOBAL const nearfield::u8* rows,
                      nearfield::u64 row_begin, nearfield::u64 row_stride, nearfield::u32 row_count,
                      nearfield::u32 row_type, nearfield::u32 width, double p,
                      NEARFIELD_GLOBAL double* found) {
  NEARFIELD_BLOCK nearfield::device::Number query_piece[nearfield::device::kSide]
                                                       [nearfield::device::kPiece + 1];
  NEARFIELD_BLOCK nearfield::device::Number row_piece[nearfield::device::kSide]
                                                     [nearfield::device::kPiece + 1];
  nearfield::device::make_keys(
      {queries + query_begin, query_stride, query_count, width, query_type},
      {rows + row_begin, row_stride, row_count, width, row_type}, p, {query_piece, row_piece},
      nearfield::device::ToMatrix{found, row_count});
}

// The same as float32 that are not below the keys.
NEARFIELD_KERNEL key_bounds(NEARFIELD_GLOBAL const nearfield::u8* queries,
                            nearfield::u64 query_begin, nearfield::u64 query_stride,
                            nearfield::u32 query_count, nearfield::u32 query_type,
                            NEARFIELD_GLOBAL const nearfield::u8* rows, nearfield::u64 row_begin,
                            nearfield::u64 row_stride, nearfield::u32 row_count,
                            nearfield::u32 row_type, nearfield::u32 width, double p,
                            NEARFIELD_GLOBAL float* found) {
  NEARFIELD_BLOCK nearfield::device::Number query_piece[nearfield::device::kSide]
                                                       [nearfield::device::kPiece + 1];
  NEARFIELD_BLOCK nearfield::device::Number row_piece[nearfield::device::kSide]
                                                     [nearfield::device::kPiece + 1];
  nearfield::device::make_keys(
      {queries + query_begin, query_stride, query_count, width, query_type},
      {rows + row_begin, row_stride, row_count, width, row_type}, p, {query_piece, row_piece},
      nearfield::device::ToBounds{found, row_count});
}

// Of these, the keys up to the threshold of their query.
NEARFIELD_KERNEL close_keys(
    NEARFIELD_GLOBAL const nearfield::u8* queries, nearfield::u64 query_begin,
    nearfield::u64 query_stride, nearfield::u32 query_count, nearfield::u32 query_type,
    NEARFIELD_GLOBAL const nearfield::u8* rows, nearfield::u64 row_begin, nearfield::u64 row_stride,
    nearfield::u32 row_count, nearfield::u32 row_type, nearfield::u32 width, double p,
    NEARFIELD_GLOBAL const double* thresholds, NEARFIELD_GLOBAL nearfield::u32* count,
    nearfield::u32 most, NEARFIELD_GLOBAL nearfield::u64* places, NEARFIELD_GLOBAL double* found) {
  NEARFIELD_BLOCK nearfield::device::Number query_piece[nearfield::device::kSide]
                                                       [nearfield::device::kPiece + 1];
  NEARFIELD_BLOCK nearfield::device::Number row_piece[nearfield::device::kSide]
                                                     [nearfield::device::kPiece + 1];
  nearfield::device::make_keys(
      {queries + query_begin, query_stride, query_count, width, query_type},
      {rows + row_begin, row_stride, row_count, width, row_type}, p, {query_piece, row_piece},
      nearfield::device::ToList{thresholds, {count, most, places}, found});
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
  NEARFIELD_BLOCK nearfield::device::Number room[nearfield::device::M::sums]
                                                [nearfield::device::kThreads];
  const nearfield::u32 listed = *count < most ? *count : most;
  nearfield::device::make_pair_keys({queries + query_begin, query_stride, 0, width, query_type},
                                    {rows + row_begin, row_stride, 0, width, row_type}, p, places,
                                    listed, found, room);
}
