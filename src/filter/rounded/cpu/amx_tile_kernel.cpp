// AMX: TDPBSSD multiplies 16 queries by 16 rows, 64 values deep, in 16 cycles.
//
// Sums leave the tiles through memory, and what compares them reads them from there. Loads are what
// limits it: a tile takes about 12 cycles to load, of a unit that also serves the comparisons. So
// the bias is added while comparing, not loaded into a tile, and sums are stored when they are
// long done and compared a block later, so that nothing waits for a product.
// Groups of 1,024 pairs in ns, on one core of a 5th-generation Xeon, and the products alone:
//   values deep     64   128   192   256   512   768
//   pairs of tiles  66    92   127   175   311   451
//   squares         86   122   147   177   277   389
//   bare            29    57    88   104   230   329
#include "filter/rounded/cpu/tile_kernels.hpp"

#if NEARFIELD_X86

#include <immintrin.h>

#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma,amx-tile,amx-int8")
namespace nearfield::N_AMX {

#define NEARFIELD_MULTIPLY_TILES _tile_dpbssd
#include "filter/rounded/cpu/amx_tiles-inl.h"
#include "filter/rounded/cpu/avx512_test-inl.h"

// Finds in the sums of one block after the other; those of a group have thresholds in common.
struct Comparison {
  explicit Comparison(TileJob& job) : job(job) {}

  void start_group(std::int64_t group) { round_thresholds(job, job.terms[group], thresholds); }

  void compare(const Sums& sums, std::int64_t block) {
    const __m512i bias = _mm512_loadu_si512(job.bias + block * kBlockRows);
    __m512i column_bias = bias;
    if (job.column_bias != nullptr) {
      column_bias =
          _mm512_add_epi32(bias, _mm512_loadu_si512(job.column_bias + block * kBlockRows));
    }
    for (std::int64_t first = 0; first < kTileQueries; first += 8) {
      __mmask16 some = 0;
      for (std::int64_t query = first; query < first + 8; ++query) {
        some = _kor_mask16(some, reached(sums.load(query), bias, column_bias, query));
      }
      if (__builtin_expect(_kortestz_mask16_u8(some, some), 1)) continue;
      for (std::int64_t query = first; query < first + 8; ++query) {
        const __m512i sum = sums.load(query);
        const __mmask16 found = reached(sum, bias, column_bias, query);
        if (found == 0) continue;
        append(_mm512_add_epi32(sum, bias), found, block * kBlockRows, query, job);
      }
    }
  }

  __mmask16 reached(__m512i sum, __m512i bias, __m512i column_bias, std::int64_t query) const {
    const __m512i threshold = _mm512_set1_epi32(thresholds[query]);
    const __mmask16 found = _mm512_cmpge_epi32_mask(sum, _mm512_sub_epi32(threshold, bias));
    if (job.column_bias == nullptr) return found;
    const __m512i level = _mm512_set1_epi32(job.column_level[query]);
    return _kor_mask16(found, _mm512_cmpge_epi32_mask(sum, _mm512_sub_epi32(level, column_bias)));
  }

  TileJob& job;
  alignas(64) std::int32_t thresholds[kTileQueries];
};

void run(TileJob& job) {
  constexpr std::int64_t kDeepestPairs = 256;  // bytes
  run_tiles<Comparison>(job, kDeepestPairs);
}

}  // namespace nearfield::N_AMX
HWY_POP_ATTRIBUTES

namespace nearfield {
const TileKernel kAmxTiles{"AMX", QueryForm::bytes, N_AMX::run};
}

#endif
