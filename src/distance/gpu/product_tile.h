// Products of queries and rows in low precision, a square of them a block:
// -DNEARFIELD_VALUE=f16 -DNEARFIELD_SUM=float, f16 and f16, or i8 and i32.
//
// A block makes a square of kTile x kTile, from panels of its queries and rows in
// its memory; while one is multiplied, the next is on its way from the device's memory to
// registers. Each warp makes a part of the square, in fragments.
#pragma once

#include "device/gpu/fragments.h"

namespace nearfield::device {

using Value = NEARFIELD_VALUE;
using Sum = NEARFIELD_SUM;

// What is written: floats of halves, integers of bytes.
template <class>
struct WrittenOf {
  using Type = float;
};
template <>
struct WrittenOf<i8> {
  using Type = i32;
};
using Written = WrittenOf<Value>::Type;

// As in distance/gpu/product_step.hpp.
constexpr u32 kTile = 128;

using TilePanel = Panel<Value, kTile>;
using Word = TilePanel::Word;

// Of a panel, those of a thread.
constexpr u32 kChunks = kTile * kPanelChunks / kThreads;

// The part of a warp, in fragments: queries down, rows across.
constexpr u32 kSide = kTile / kFragment;
constexpr u32 kAcross = 2;
constexpr u32 kDown = kSide * kSide / kWarps / kAcross;
constexpr u32 kWarpsAcross = kSide / kAcross;
static_assert(kWarps % kWarpsAcross == 0 && kDown > 0, "warps share the square");

// Both panels, and later a fragment of sums a warp.
constexpr u32 kSumsBytes = kWarps * kFragment * kFragment * sizeof(Sum);
constexpr u32 kPanelsBytes = 2 * TilePanel::kWords * sizeof(Word);
constexpr u32 kMemoryChunks = (kSumsBytes > kPanelsBytes ? kSumsBytes : kPanelsBytes) / kChunkBytes;

// Padded with zeros to multiples of kTile rows and of kPanelBytes. Of a block of them the tiles
// begin at a multiple of kTile.
struct Vectors {
  NEARFIELD_GLOBAL const uint4* chunks;
  u32 stride;  // chunks
  u32 first;   // of the block
  u32 end;

  NEARFIELD_INLINE u32 tile(u32 number) const { return (first / kTile + number) * kTile; }
  NEARFIELD_INLINE bool has(u32 vector) const { return first <= vector && vector < end; }
};

// On its way to a panel.
class Piece {
 public:
  NEARFIELD_INLINE void read(const Vectors& vectors, u32 first, u32 piece) {
#pragma unroll
    for (u32 i = 0; i < kChunks; ++i) {
      const u32 at = i * kThreads + thread();
      const u64 row = first + at / kPanelChunks;
      chunks_[i] = vectors.chunks[row * vectors.stride + piece * kPanelChunks + at % kPanelChunks];
    }
  }

  NEARFIELD_INLINE void write(NEARFIELD_SHARED Word* panel) const {
#pragma unroll
    for (u32 i = 0; i < kChunks; ++i) {
      const u32 at = i * kThreads + thread();
      TilePanel::put(panel, at / kPanelChunks, at % kPanelChunks, chunks_[i]);
    }
  }

 private:
  uint4 chunks_[kChunks];
};

NEARFIELD_INLINE float written(float sum) { return sum; }
NEARFIELD_INLINE float written(f16 sum) { return float_of(sum); }
NEARFIELD_INLINE i32 written(i32 sum) { return sum; }

// Where a square begins: multiples of kTile.
struct Square {
  u32 query;
  u32 row;
};

// That of this block of threads, where queries go along x. Blocks that run side by side then have
// the same rows, and the queries of a search stay in a cache: the base is read once, and not once
// for every tile of queries.
NEARFIELD_INLINE Square queries_first(const Vectors& queries, const Vectors& rows) {
  return {queries.tile(block_x()), rows.tile(block_y())};
}

// The part of a warp.
class Part {
 public:
  NEARFIELD_INLINE Part()
      : query_(warp() / kWarpsAcross * kDown * kFragment),
        row_(warp() % kWarpsAcross * kAcross * kFragment) {
#pragma unroll
    for (u32 i = 0; i < kDown; ++i) {
#pragma unroll
      for (u32 j = 0; j < kAcross; ++j) sums_[i][j].clear();
    }
  }

  NEARFIELD_INLINE void add(NEARFIELD_SHARED const Word* queries,
                            NEARFIELD_SHARED const Word* rows) {
// A loop: unrolled, it spills on sm_100 with sums of 16 bits.
#pragma unroll 1
    for (u32 step = 0; step < kPanelSteps<Value>; ++step) {
      Right<Value> right[kAcross];
#pragma unroll
      for (u32 j = 0; j < kAcross; ++j) {
        right[j].template load<kTile>(rows, step, row_ + j * kFragment);
      }
#pragma unroll
      for (u32 i = 0; i < kDown; ++i) {
        Left<Value> left;
        left.template load<kTile>(queries, step, query_ + i * kFragment);
#pragma unroll
        for (u32 j = 0; j < kAcross; ++j) sums_[i][j].add(left, right[j]);
      }
    }
  }

  // use(query, row, sums), of each fragment: the first of both, and 16 sums a query. By way of the
  // memory of the block, where each warp has room for a fragment.
  template <class Use>
  NEARFIELD_INLINE void hand_over(const Square& square, NEARFIELD_SHARED Sum* room,
                                  const Use& use) const {
    room += warp() * kFragment * kFragment;
    NEARFIELD_UNROLL_REGISTERS
    for (u32 i = 0; i < kDown; ++i) {
      NEARFIELD_UNROLL_REGISTERS
      for (u32 j = 0; j < kAcross; ++j) {
        sums_[i][j].store(room);
        sync_warp();
        use(square.query + query_ + i * kFragment, square.row + row_ + j * kFragment, room);
        sync_warp();
      }
    }
  }

 private:
  u32 query_;  // of the square
  u32 row_;
  Sums<Value, Sum> sums_[kDown][kAcross];
};

// use(query, row, sum), of the sums of a fragment that are of the block.
template <class Use>
struct EachSum {
  Vectors queries;
  Vectors rows;
  Use use;

  NEARFIELD_INLINE void operator()(u32 first_query, u32 first_row,
                                   NEARFIELD_SHARED const Sum* sums) const {
    for (u32 at = lane(); at < kFragment * kFragment; at += kWarp) {
      const u32 query = first_query + at / kFragment;
      const u32 row = first_row + at % kFragment;
      if (queries.has(query) && rows.has(row)) use(query, row, written(sums[at]));
    }
  }
};

// use_fragment: as Part::hand_over. The memory may be written again after a sync().
template <class UseFragment>
NEARFIELD_INLINE void make_square(const Vectors& queries, const Vectors& rows, const Square& square,
                                  u32 pieces, NEARFIELD_SHARED uint4* memory,
                                  const UseFragment& use_fragment) {
  NEARFIELD_SHARED Word* const query_panel = reinterpret_cast<NEARFIELD_SHARED Word*>(memory);
  NEARFIELD_SHARED Word* const row_panel = query_panel + TilePanel::kWords;
  Part part;
  Piece of_queries;
  Piece of_rows;
  of_queries.read(queries, square.query, 0);
  of_rows.read(rows, square.row, 0);
  for (u32 piece = 1; piece <= pieces; ++piece) {
    of_queries.write(query_panel);
    of_rows.write(row_panel);
    sync();
    if (piece < pieces) {
      of_queries.read(queries, square.query, piece);
      of_rows.read(rows, square.row, piece);
    }
    part.add(query_panel, row_panel);
    sync();
  }
  part.hand_over(square, reinterpret_cast<NEARFIELD_SHARED Sum*>(memory), use_fragment);
}

// use(query, row, sum). Use is given: deduced, it would have the address space of an argument.
template <class Use>
NEARFIELD_INLINE void make_products(const Vectors& queries, const Vectors& rows,
                                    const Square& square, u32 pieces,
                                    NEARFIELD_SHARED uint4* memory, const Use& use) {
  make_square(queries, rows, square, pieces, memory, EachSum<Use>{queries, rows, use});
}

}  // namespace nearfield::device
