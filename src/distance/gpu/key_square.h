// Squares of keys, by the definition: any metric of metrics.def, any type. -DNEARFIELD_METRIC=name.
//
// A block makes a square of keys, a thread one or several, from pieces of queries and rows in its
// memory, which are decoded to float64 on the way there: a value is read from the device's memory
// once for every kSide keys. Element i of a row goes to partial sum i mod 8, as on CPUs
// (distance/sum_tree.h).
#pragma once

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

constexpr u32 kSide = 16;  // keys of a block, both ways
// Values of a row at a time.
#ifdef NEARFIELD_KEY_PIECE
constexpr u32 kPiece = NEARFIELD_KEY_PIECE;
#else
constexpr u32 kPiece = 32;
#endif
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

// Where a block of threads has the pieces of a square.
struct Pieces {
  NEARFIELD_SHARED Number (*of_queries)[kPiece + 1];
  NEARFIELD_SHARED Number (*of_rows)[kPiece + 1];
};

// Of a square, those of a thread: queries down, one row.
struct SquareKeys {
  u32 query;  // counted from the first of the square
  u32 row;
  double at[kEach];
};

// The keys of the square that begins there.
NEARFIELD_INLINE SquareKeys square_keys(const Rows& queries, u32 first_query, const Rows& rows,
                                        u32 first_row, double p, const Pieces& pieces) {
  const M metric = metric_with<M>(p, 0);
  SquareKeys keys;
  keys.query = thread() / kSide * kEach;
  keys.row = thread() % kSide;
  Partial partial[kEach] = {};
  for (u32 at = 0; at < Read::count(rows.width); at += kPiece) {
    load_piece(queries, first_query, at, pieces.of_queries);
    load_piece(rows, first_row, at, pieces.of_rows);
    sync();
    for (u32 i = 0; i < kEach; ++i) {
      partial[i].add_piece(metric, pieces.of_queries[keys.query + i], pieces.of_rows[keys.row]);
    }
    sync();
  }
  for (u32 i = 0; i < kEach; ++i) keys.at[i] = partial[i].key();
  return keys;
}

struct ToList {
  NEARFIELD_GLOBAL const double* thresholds;  // of the queries; NaN: nothing is close
  PairList list;
  NEARFIELD_GLOBAL double* keys;

  // A key that is no number is that of a pair too far to be told apart: infinity.
  NEARFIELD_INLINE void operator()(u32 query, u32 row, double key) const {
    const double threshold = thresholds[query];
    const double infinity = double_of(static_cast<u64>(0x7FF) << 52);
    if (!(key <= threshold) && !(key != key && threshold == infinity)) return;
    add(query, row, key);
  }

  NEARFIELD_INLINE void add(u32 query, u32 row, double key) const {
    const u32 at = list.add(query, row);
    if (at < list.most) keys[at] = key;
  }
};

}  // namespace
}  // namespace nearfield::device

// What a kernel of keys takes first: both sets are as wide, begin at some byte, and may be of
// different types.
#define NEARFIELD_KEY_VECTORS                                                             \
  NEARFIELD_GLOBAL const nearfield::u8 *queries, nearfield::u64 query_begin,              \
      nearfield::u64 query_stride, nearfield::u32 query_count, nearfield::u32 query_type, \
      NEARFIELD_GLOBAL const nearfield::u8 *rows, nearfield::u64 row_begin,               \
      nearfield::u64 row_stride, nearfield::u32 row_count, nearfield::u32 row_type,       \
      nearfield::u32 width, double p
#define NEARFIELD_KEY_SETS                                               \
  {queries + query_begin, query_stride, query_count, width, query_type}, \
      {rows + row_begin, row_stride, row_count, width, row_type}, p
// Pieces of a square: only a kernel may declare them.
#define NEARFIELD_KEY_PIECES(query_piece, row_piece)                                    \
  NEARFIELD_BLOCK nearfield::device::Number query_piece[nearfield::device::kSide]       \
                                                       [nearfield::device::kPiece + 1]; \
  NEARFIELD_BLOCK nearfield::device::Number row_piece[nearfield::device::kSide]         \
                                                     [nearfield::device::kPiece + 1]
