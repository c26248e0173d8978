// Products of queries and rows in low precision: found = factor * product + of the query + of the
// row. With squared norms and a factor of -2 that is the squared euclidean distance.
// -DNEARFIELD_VALUE=f16 -DNEARFIELD_SUM=float, f16 and f16, or i8 and i32.
//
// A block makes a square of kTile x kTile, from panels of its queries and rows in
// its memory; while one is multiplied, the next is on its way from the device's memory to
// registers. Each warp makes a part of the square, in fragments.
#include "device/gpu/fragments.h"
#include "distance/gpu/product_adds.h"

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

// Padded with zeros to multiples of kTile rows and of kPanelBytes.
struct Vectors {
  NEARFIELD_GLOBAL const uint4* chunks;
  u32 stride;                            // chunks
  u32 count;                             // without padding
  NEARFIELD_GLOBAL const Written* adds;  // to every product of a vector
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

  // By way of the memory of the block, where each warp has room for a fragment.
  NEARFIELD_INLINE void write(const Vectors& queries, const Vectors& rows, Written factor,
                              NEARFIELD_SHARED Sum* room, NEARFIELD_GLOBAL Written* found) const {
    room += warp() * kFragment * kFragment;
#pragma unroll
    for (u32 i = 0; i < kDown; ++i) {
#pragma unroll
      for (u32 j = 0; j < kAcross; ++j) {
        sums_[i][j].store(room);
        sync_warp();
        write_fragment(queries, block_y() * kTile + query_ + i * kFragment, rows,
                       block_x() * kTile + row_ + j * kFragment, factor, room, found);
        sync_warp();
      }
    }
  }

 private:
  NEARFIELD_INLINE static void write_fragment(const Vectors& queries, u32 first_query,
                                              const Vectors& rows, u32 first_row, Written factor,
                                              NEARFIELD_SHARED const Sum* sums,
                                              NEARFIELD_GLOBAL Written* found) {
    for (u32 at = lane(); at < kFragment * kFragment; at += kWarp) {
      const u32 query = first_query + at / kFragment;
      const u32 row = first_row + at % kFragment;
      if (query < queries.count && row < rows.count) {
        found[static_cast<u64>(query) * rows.count + row] =
            combined(factor, written(sums[at]), queries.adds[query], rows.adds[row]);
      }
    }
  }

  u32 query_;  // of the square
  u32 row_;
  Sums<Value, Sum> sums_[kDown][kAcross];
};

NEARFIELD_INLINE void write_products(const Vectors& queries, const Vectors& rows, u32 pieces,
                                     Written factor, NEARFIELD_SHARED uint4* memory,
                                     NEARFIELD_GLOBAL Written* found) {
  NEARFIELD_SHARED Word* const query_panel = reinterpret_cast<NEARFIELD_SHARED Word*>(memory);
  NEARFIELD_SHARED Word* const row_panel = query_panel + TilePanel::kWords;
  Part part;
  Piece of_queries;
  Piece of_rows;
  of_queries.read(queries, block_y() * kTile, 0);
  of_rows.read(rows, block_x() * kTile, 0);
  for (u32 piece = 1; piece <= pieces; ++piece) {
    of_queries.write(query_panel);
    of_rows.write(row_panel);
    sync();
    if (piece < pieces) {
      of_queries.read(queries, block_y() * kTile, piece);
      of_rows.read(rows, block_x() * kTile, piece);
    }
    part.add(query_panel, row_panel);
    sync();
  }
  part.write(queries, rows, factor, reinterpret_cast<NEARFIELD_SHARED Sum*>(memory), found);
}

}  // namespace nearfield::device

// Of as many pieces each, at least one.
NEARFIELD_KERNEL product(NEARFIELD_GLOBAL const uint4* queries, nearfield::u32 query_count,
                         NEARFIELD_GLOBAL const nearfield::device::Written* query_adds,
                         NEARFIELD_GLOBAL const uint4* rows, nearfield::u32 row_count,
                         NEARFIELD_GLOBAL const nearfield::device::Written* row_adds,
                         nearfield::u32 pieces, nearfield::device::Written factor,
                         NEARFIELD_GLOBAL nearfield::device::Written* found) {
  NEARFIELD_BLOCK uint4 memory[nearfield::device::kMemoryChunks];
  const nearfield::u32 stride = pieces * nearfield::device::kPanelChunks;
  nearfield::device::write_products({queries, stride, query_count, query_adds},
                                    {rows, stride, row_count, row_adds}, pieces, factor, memory,
                                    found);
}
