// AMX: TDPBF16PS multiplies 16 queries by 16 rows, 32 values deep, in 16 cycles. As in
// amx_tile_kernel.cpp, and measured like there, one core and groups of 1,024 pairs in ns:
//   values deep     32    64    96   128   192   256   512
//   pairs of tiles  98   129   160   194   264   333   745
//   squares        136   163   189   223   286   355   786
// From 1,024 values on squares are faster, and before little is gained.
#include "filter/rounded/bf16_tile_kernel.hpp"
#include "filter/rounded/cpu/tile_kernels.hpp"

#if NEARFIELD_X86

#include <immintrin.h>

#include <hwy/base.h>

#include "device/bf16_tiles.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma,amx-tile,amx-bf16")
namespace nearfield::N_AMX::bf16 {

#define NEARFIELD_MULTIPLY_TILES _tile_dpbf16ps
#include "filter/rounded/cpu/amx_tiles-inl.h"
#include "filter/rounded/cpu/append_rows-inl.h"

// What stands on both sides of a comparison: of 16 rows, and of each query.
struct Side {
  Side(const float* bias, const float* of_rows, const float* of_queries, const float* level)
      : bias(_mm512_loadu_ps(bias)),
        of_rows(_mm512_loadu_ps(of_rows)),
        of_queries(of_queries),
        level(level) {}

  __mmask16 reached(__m512 sum, std::int64_t query) const {
    const __m512 added = _mm512_fmadd_ps(_mm512_set1_ps(of_queries[query]), of_rows, bias);
    // Not less, rather than at least: a NaN would keep the row.
    return _mm512_cmp_ps_mask(_mm512_add_ps(sum, added), _mm512_set1_ps(level[query]), _CMP_NLT_UQ);
  }

  __m512 bias;
  __m512 of_rows;
  const float* of_queries;
  const float* level;
};

// Finds in the sums of one block after the other.
struct Comparison : FromZero {
  explicit Comparison(Bf16TileJob& job) : job(job) {}

  void start_group(std::int64_t /*group*/) {}

  void compare(const Sums& sums, std::int64_t block) {
    const std::int64_t row = block * kBlockRows;
    const Side asking(job.bias + row, job.term + row, job.per_term, job.level);
    if (job.column_bias == nullptr) {
      append_reached(row, [&](std::int64_t query) {
        return asking.reached(_mm512_castsi512_ps(sums.load(query)), query);
      });
      return;
    }
    const Side asked(job.column_bias + row, job.per_column + row, job.column_term,
                     job.column_level);
    append_reached(row, [&](std::int64_t query) {
      const __m512 sum = _mm512_castsi512_ps(sums.load(query));
      return _kor_mask16(asking.reached(sum, query), asked.reached(sum, query));
    });
  }

  template <class Reached>
  void append_reached(std::int64_t row, const Reached& reached) {
    for (std::int64_t first = 0; first < kTileQueries; first += 8) {
      __mmask16 found[8];
      __mmask16 some = 0;
      for (std::int64_t i = 0; i < 8; ++i) {
        found[i] = reached(first + i);
        some = _kor_mask16(some, found[i]);
      }
      if (__builtin_expect(_kortestz_mask16_u8(some, some), 1)) continue;
      for (std::int64_t i = 0; i < 8; ++i) {
        if (found[i] != 0) append_rows(found[i], row, first + i, job);
      }
    }
  }

  Bf16TileJob& job;
};

void run(Bf16TileJob& job) {
  constexpr std::int64_t kDeepestPairs = 512;  // bytes
  for (std::int64_t& count : job.counts) count = 0;
  run_tiles<Comparison>(job, kDeepestPairs);
}

}  // namespace nearfield::N_AMX::bf16
HWY_POP_ATTRIBUTES

namespace nearfield {

Bf16TileKernel bf16_tile_kernel(Isa isa) {
  return isa == Isa::amx && has_bf16_tiles() ? N_AMX::bf16::run : nullptr;
}

}  // namespace nearfield

#else

namespace nearfield {
Bf16TileKernel bf16_tile_kernel(Isa /*isa*/) { return nullptr; }
}  // namespace nearfield

#endif
