// AMX: TDPBSSD multiplies 16 queries by 16 rows, 64 values deep, in 16 cycles.
//
// Sums leave the tiles through memory, and what compares them reads them from there. Loads are what
// limits it: a tile takes about 12 cycles to load, of a unit that also serves the comparisons. So
// the bias is added while comparing, not loaded into a tile, and sums are stored when they are
// long done and compared a block later, so that nothing waits for a product. What is left beside
// the products are the stores: the unit that multiplies waits for them, 6 ns each.
// Groups of 1,024 pairs in ns, on one core of a 5th-generation Xeon, rows in L2, and the products
// alone:
//   values deep      64   128   192   256   512   768
//   queries kept     80   102
//   pairs of tiles   95   124   147   180
//   squares                                 327   581
//   bare             32    63    95   127   253   380
#include "filter/rounded/cpu/tile_kernels.hpp"

#if NEARFIELD_X86

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma,amx-tile,amx-int8")
namespace nearfield::N_AMX {

#define NEARFIELD_MULTIPLY_TILES _tile_dpbssd
#include "filter/rounded/cpu/amx_tiles-inl.h"
#include "filter/rounded/cpu/avx512_test-inl.h"

#include "filter/rounded/cpu/amx_nearest-inl.h"

// Finds in the sums of one block after the other; those of a group have thresholds in common.
struct Comparison : FromZero {
  static constexpr std::int64_t kTogether = 16;

  explicit Comparison(TileJob& job) : job(job) {}

  void start_group(std::int64_t group) { round_thresholds(job, job.terms[group], thresholds); }

  void compare(const Sums& sums, std::int64_t block) {
    const __m512i bias = _mm512_loadu_si512(job.bias + block * kBlockRows);
    __m512i column_bias = bias;
    if (job.column_bias != nullptr) {
      column_bias =
          _mm512_add_epi32(bias, _mm512_loadu_si512(job.column_bias + block * kBlockRows));
    }
    for (std::int64_t first = 0; first < kTileQueries; first += kTogether) {
      __mmask16 some = any_reaches(sums, bias, thresholds, first);
      if (job.column_bias != nullptr) {
        some = _kor_mask16(some, any_reaches(sums, column_bias, job.column_level, first));
      }
      if (__builtin_expect(!_kortestz_mask16_u8(some, some), 0)) {
        append_reached(sums, bias, column_bias, block * kBlockRows, first);
      }
    }
  }

  // Which rows reach the level of any of the queries from `first`. The largest of what is above a
  // level, rather than a comparison each: two operations a query instead of three.
  static __mmask16 any_reaches(const Sums& sums, __m512i bias, const std::int32_t* levels,
                               std::int64_t first) {
    __m512i most = _mm512_set1_epi32(std::numeric_limits<std::int32_t>::min());
    for (std::int64_t query = first; query < first + kTogether; ++query) {
      const __m512i above = _mm512_sub_epi32(sums.load(query), _mm512_set1_epi32(levels[query]));
      most = _mm512_max_epi32(most, above);
    }
    return _mm512_cmpge_epi32_mask(most, _mm512_sub_epi32(_mm512_setzero_si512(), bias));
  }

  // Apart, so that its registers are not kept free where nothing is found.
  HWY_NOINLINE void append_reached(const Sums& sums, __m512i bias, __m512i column_bias,
                                   std::int64_t first_row, std::int64_t first) {
    for (std::int64_t query = first; query < first + kTogether; ++query) {
      const __m512i sum = sums.load(query);
      const __mmask16 found = reached(sum, bias, column_bias, query);
      if (found != 0) append(_mm512_add_epi32(sum, bias), found, first_row, query, job);
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

constexpr std::int64_t kDeepestPairs = 256;  // bytes

void run(TileJob& job) {
  for (std::int64_t& count : job.counts) count = 0;
  run_tiles<Comparison>(job, kDeepestPairs);
}

void nearest(NearestTileJob& job) { run_tiles<NearestComparison>(job, kDeepestPairs); }

}  // namespace nearfield::N_AMX
HWY_POP_ATTRIBUTES

namespace nearfield {
const TileKernel kAmxTiles{"AMX", QueryForm::bytes, N_AMX::run, 500, N_AMX::nearest};
}

#endif
