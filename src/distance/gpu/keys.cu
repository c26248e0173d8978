// The definition of a key, on a device: any metric of metrics.def, any type. A new metric is one
// more module of this file: -DNEARFIELD_METRIC=name.
//
// A block makes a square of keys, a thread one or several, from pieces of queries and rows in its
// memory, which are decoded to float64 on the way there: a value is read from the device's memory
// once for every kSide keys. Element i of a row goes to partial sum i mod 8, as on CPUs
// (distance/sum_tree.h).
#include <nearfield/metric_kinds.hpp>

#include "device/gpu/kernel_language.h"
#include "distance/gpu/pair_list.h"
#include "distance/gpu/stored_value.h"

namespace nearfield::device {

NEARFIELD_INLINE u64 population_count(u64 x) { return ones(x); }

// Not sorted: the metrics need what is above them.
// clang-format off
#include "distance/scalar_operations.h"
#include "distance/all_metrics.inc"
// clang-format on
#include "distance/metric_with.h"
#include "distance/sum_tree.h"

using M = NEARFIELD_METRIC;

constexpr u32 kSide = 16;                        // keys of a block, both ways
constexpr u32 kPiece = 32;                       // values of a row at a time
constexpr u32 kEach = kSide * kSide / kThreads;  // of a thread, in a column
static_assert(kEach > 0 && kThreads % kSide == 0, "a thread has a key or several");

// What a metric adds up: float64.
template <MetricInput>
struct Element {
  using Number = double;

  NEARFIELD_INLINE static u32 count(u32 width) { return width; }

  NEARFIELD_INLINE static double load(NEARFIELD_GLOBAL const u8* row, u32 i, u32 stored) {
    return stored_value(row, i, stored);
  }
};

// Of bits, words.
template <>
struct Element<MetricInput::bits> {
  using Number = u64;

  NEARFIELD_INLINE static u32 count(u32 width) { return width / 8; }

  NEARFIELD_INLINE static u64 load(NEARFIELD_GLOBAL const u8* row, u32 i, u32 /*stored*/) {
    return reinterpret_cast<NEARFIELD_GLOBAL const u64*>(row)[i];
  }
};

using Read = Element<M::input>;
using Number = Read::Number;

namespace {

// Values [at, at + kPiece) of kSide rows; zeros, which add nothing to any metric, where there are
// none.
NEARFIELD_INLINE void load_piece(const Rows& rows, u32 first, u32 at,
                                 NEARFIELD_SHARED Number (*piece)[kPiece + 1]) {
  for (u32 i = thread(); i < kSide * kPiece; i += kThreads) {
    const u32 row = first + i / kPiece;
    const u32 value = at + i % kPiece;
    piece[i / kPiece][i % kPiece] =
        row < rows.count && value < Read::count(rows.width)
            ? Read::load(rows.bytes + row * rows.stride, value, rows.stored)
            : Number{0};
  }
}

// Of a key.
struct Partial {
  Number sums[8 * M::sums];

  NEARFIELD_INLINE void add_piece(const M& metric, NEARFIELD_SHARED const Number* query,
                                  NEARFIELD_SHARED const Number* row) {
    for (u32 i = 0; i < kPiece; i += 8) {
#pragma unroll
      for (u32 lane = 0; lane < 8; ++lane) {
        Number own[M::sums];
#pragma unroll
        for (u32 s = 0; s < M::sums; ++s) own[s] = sums[8 * s + lane];
        metric.template accumulate<Number>(own, query[i + lane], row[i + lane]);
#pragma unroll
        for (u32 s = 0; s < M::sums; ++s) sums[8 * s + lane] = own[s];
      }
    }
  }

  NEARFIELD_INLINE double key() const {
    double all[8 * M::sums];
#pragma unroll
    for (u32 i = 0; i < 8 * M::sums; ++i) all[i] = static_cast<double>(sums[i]);
    return key_from_sums<M>(all);
  }
};

// The keys of the square of this block: use(query, row, key).
template <class Use>
NEARFIELD_INLINE void make_keys(const Rows& queries, const Rows& rows, double p, const Use& use,
                                NEARFIELD_SHARED Number (*query_piece)[kPiece + 1],
                                NEARFIELD_SHARED Number (*row_piece)[kPiece + 1]) {
  const M metric = metric_with<M>(p, 0);
  const u32 query = thread() / kSide * kEach;
  const u32 row = thread() % kSide;
  Partial partial[kEach] = {};
  for (u32 at = 0; at < Read::count(rows.width); at += kPiece) {
    load_piece(queries, block_y() * kSide, at, query_piece);
    load_piece(rows, block_x() * kSide, at, row_piece);
    sync();
    for (u32 i = 0; i < kEach; ++i) {
      partial[i].add_piece(metric, query_piece[query + i], row_piece[row]);
    }
    sync();
  }
  const u32 row_at = block_x() * kSide + row;
  for (u32 i = 0; i < kEach; ++i) {
    const u32 query_at = block_y() * kSide + query + i;
    if (query_at < queries.count && row_at < rows.count) {
      use(query_at, row_at, partial[i].key());
    }
  }
}

struct ToMatrix {
  NEARFIELD_GLOBAL double* keys;
  u32 row_count;

  NEARFIELD_INLINE void operator()(u32 query, u32 row, double key) const {
    keys[static_cast<u64>(query) * row_count + row] = key;
  }
};

struct ToList {
  NEARFIELD_GLOBAL const double* thresholds;  // of the queries; NaN: nothing is close
  PairList list;
  NEARFIELD_GLOBAL double* keys;

  // A key that is no number is that of a pair too far to be told apart: infinity.
  NEARFIELD_INLINE void operator()(u32 query, u32 row, double key) const {
    const double threshold = thresholds[query];
    const double infinity = double_of(static_cast<u64>(0x7FF) << 52);
    if (!(key <= threshold) && !(key != key && threshold == infinity)) return;
    const u32 at = list.add(query, row);
    if (at < list.most) keys[at] = key;
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
      {rows + row_begin, row_stride, row_count, width, row_type}, p,
      nearfield::device::ToMatrix{found, row_count}, query_piece, row_piece);
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
      {rows + row_begin, row_stride, row_count, width, row_type}, p,
      nearfield::device::ToList{thresholds, {count, most, places}, found}, query_piece, row_piece);
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
