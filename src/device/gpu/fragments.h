// Products of small matrices by the threads of a warp: 16 x 16 sums of 16 products each. On CUDA
// by tensor cores, elsewhere in plain code over the lanes.
//
//   Panel<Value, rows>          so many vectors in the memory of the block, or pieces of them
//   Left<Value>, Right<Value>   16 of them, 16 values of each, of a panel
//   Sums<Value, Sum>            of the products of each of the left with each of the right
//
// Value and Sum: f16 and float, f16 and f16, i8 and i32. Products are exact. i32 is exact too, or
// wraps; how far floats may be off, by any implementation, is in distance/product_scale.hpp.
//
// All threads of a warp make a call of a fragment. A panel stays as it is until the fragments of it
// have been added.
#pragma once

#include "device/gpu/kernel_language.h"

#if defined(__CUDACC__)
#include <mma.h>
#endif

namespace nearfield::device {

constexpr u32 kFragment = 16;    // rows, columns, and products of a sum
constexpr u32 kPanelBytes = 64;  // of a vector
constexpr u32 kChunkBytes = 16;  // of a vector that a thread puts into a panel at a time
constexpr u32 kPanelChunks = kPanelBytes / kChunkBytes;

// Fragments side by side.
template <class Value>
constexpr u32 kPanelSteps = kPanelBytes / (kFragment * sizeof(Value));

#if defined(__CUDACC__)

// Step after step, so that the fragments of each begin at multiples of 32 bytes, as they must.
template <class Value, u32 kRows>
struct Panel {
  using Word = Value;

  // Tensor cores read 8 rows at a time, 16 bytes of each: at 48 bytes from one row to the next, or
  // at 16, no two of them are in one bank.
  static constexpr u32 kStride = sizeof(Value) == 1 ? 16 : 48 / sizeof(Value);
  static constexpr u32 kStep = kRows * kStride;
  static constexpr u32 kWords = kPanelSteps<Value> * kStep;

  NEARFIELD_INLINE static void put(NEARFIELD_SHARED Word* panel, u32 row, u32 chunk, uint4 values) {
    constexpr u32 kStepChunks = kFragment * sizeof(Value) / kChunkBytes;
    const u32 at = chunk / kStepChunks * kStep + row * kStride +
                   chunk % kStepChunks * (kChunkBytes / sizeof(Value));
    *reinterpret_cast<uint4*>(panel + at) = values;
  }
};

template <class Value, class Side, class Layout>
class Loaded {
 public:
  template <u32 kRows>
  NEARFIELD_INLINE void load(NEARFIELD_SHARED const Value* panel, u32 step, u32 row) {
    using From = Panel<Value, kRows>;
    nvcuda::wmma::load_matrix_sync(values, panel + step * From::kStep + row * From::kStride,
                                   From::kStride);
  }

  nvcuda::wmma::fragment<Side, kFragment, kFragment, kFragment, Value, Layout> values;
};

template <class Value>
using Left = Loaded<Value, nvcuda::wmma::matrix_a, nvcuda::wmma::row_major>;
template <class Value>
using Right = Loaded<Value, nvcuda::wmma::matrix_b, nvcuda::wmma::col_major>;

template <class Value, class Sum>
class Sums {
 public:
  NEARFIELD_INLINE void clear() { nvcuda::wmma::fill_fragment(sums_, Sum(0)); }
  NEARFIELD_INLINE void add(const Left<Value>& left, const Right<Value>& right) {
    nvcuda::wmma::mma_sync(sums_, left.values, right.values, sums_);
  }
  // 16 rows of 16, close to each other.
  NEARFIELD_INLINE void store(NEARFIELD_SHARED Sum* to) const {
    nvcuda::wmma::store_matrix_sync(to, sums_, kFragment, nvcuda::wmma::mem_row_major);
  }

 private:
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kFragment, kFragment, kFragment, Sum> sums_;
};

#else

// What lanes multiply: halves as floats, bytes four at a time.
template <class Value>
struct Words;

template <>
struct Words<f16> {
  using Word = float;
  static constexpr u32 kChunk = 8;

  NEARFIELD_INLINE static float word(uint4 chunk, u32 i) {
    const u32 pair = i < 4 ? (i < 2 ? chunk.x : chunk.y) : (i < 6 ? chunk.z : chunk.w);
    return as_half(static_cast<u16>(i % 2 == 0 ? pair : pair >> 16));
  }
  // A product of two halves is exact in 32 bits, so that fma() is no contraction.
  NEARFIELD_INLINE static float multiply_add(float a, float b, float sum) { return fma(a, b, sum); }
};

template <>
struct Words<i8> {
  using Word = u32;
  static constexpr u32 kChunk = 4;

  NEARFIELD_INLINE static u32 word(uint4 chunk, u32 i) {
    return i < 2 ? (i == 0 ? chunk.x : chunk.y) : (i == 2 ? chunk.z : chunk.w);
  }
  NEARFIELD_INLINE static i32 multiply_add(u32 a, u32 b, i32 sum) { return dot_bytes(a, b, sum); }
};

// Word after word: lanes, which have a row each, read side by side.
template <class Value, u32 kRows>
struct Panel {
  using Word = typename Words<Value>::Word;
  static constexpr u32 kWords = kPanelChunks * Words<Value>::kChunk * kRows;

  NEARFIELD_INLINE static void put(NEARFIELD_SHARED Word* panel, u32 row, u32 chunk, uint4 values) {
#pragma unroll
    for (u32 i = 0; i < Words<Value>::kChunk; ++i) {
      panel[(chunk * Words<Value>::kChunk + i) * kRows + row] = Words<Value>::word(values, i);
    }
  }
};

// A lane has a column of sums, or the upper or lower half of one where there are 32 lanes, or two
// where there are 8.
constexpr u32 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : 1;
constexpr u32 kLaneRows = kWarp > kFragment ? kFragment* kFragment / kWarp : kFragment;

// A compiler sees that lanes read side by side only where it is plain.
NEARFIELD_INLINE u32 lane_column() { return kWarp <= kFragment ? lane() : lane() % kFragment; }
NEARFIELD_INLINE u32 lane_row() { return kWarp <= kFragment ? 0 : lane() / kFragment * kLaneRows; }

// A place in a panel, which is read when the fragment is added.
template <class Value>
class Place {
 public:
  using Word = typename Words<Value>::Word;
  static constexpr u32 kDepth = kPanelChunks * Words<Value>::kChunk / kPanelSteps<Value>;

  template <u32 kRows>
  NEARFIELD_INLINE void load(NEARFIELD_SHARED const Word* panel, u32 step, u32 row) {
    words_ = panel + step * kDepth * kRows + row;
    stride_ = kRows;
  }

 protected:
  NEARFIELD_SHARED const Word* words_;
  u32 stride_;
};

template <class Value>
class Left : public Place<Value> {
 public:
  NEARFIELD_INLINE typename Words<Value>::Word word(u32 row, u32 word) const {
    NEARFIELD_SHARED const typename Words<Value>::Word* const at =
        this->words_ + word * this->stride_ + row;
    if (kWarp <= kFragment) return at[0];
    // Both are read by all lanes: faster on CPUs than each its own.
    const typename Words<Value>::Word upper = at[0];
    const typename Words<Value>::Word lower = at[kLaneRows];
    return lane() < kFragment ? upper : lower;
  }
};

template <class Value>
class Right : public Place<Value> {
 public:
  NEARFIELD_INLINE typename Words<Value>::Word word(u32 column, u32 word) const {
    return (this->words_ + word * this->stride_ + column * kWarp)[lane_column()];
  }
};

// What 16 products are added up in before they join the sum: of halves, floats, as in tensor cores.
template <class Sum>
struct Added {
  using Type = Sum;
};
template <>
struct Added<f16> {
  using Type = float;
};

template <class Value, class Sum>
class Sums {
 public:
  NEARFIELD_INLINE void clear() {
#pragma unroll
    for (u32 i = 0; i < kLaneSums; ++i) sums_[i] = 0;
  }

  // Words are a loop: unrolled, OpenCL's driver for CPUs takes a minute to compile it.
  NEARFIELD_INLINE void add(const Left<Value>& left, const Right<Value>& right) {
    typename Added<Sum>::Type sums[kLaneSums];
#pragma unroll
    for (u32 i = 0; i < kLaneSums; ++i) sums[i] = sums_[i];
#pragma nounroll
    for (u32 word = 0; word < Place<Value>::kDepth; ++word) {
#pragma unroll
      for (u32 i = 0; i < kLaneSums; ++i) {
        sums[i] = Words<Value>::multiply_add(left.word(i / kLaneColumns, word),
                                             right.word(i % kLaneColumns, word), sums[i]);
      }
    }
#pragma unroll
    for (u32 i = 0; i < kLaneSums; ++i) sums_[i] = static_cast<Sum>(sums[i]);
  }

  NEARFIELD_INLINE void store(NEARFIELD_SHARED Sum* to) const {
    to += lane_row() * kFragment + lane_column();
#pragma unroll
    for (u32 i = 0; i < kLaneSums; ++i) {
      to[i / kLaneColumns * kFragment + i % kLaneColumns * kWarp] = sums_[i];
    }
  }

 private:
  static constexpr u32 kLaneSums = kLaneRows * kLaneColumns;

  Sum sums_[kLaneSums];
};

#endif

}  // namespace nearfield::device
