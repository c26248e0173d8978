// AVX-512 without VNNI: VPMADDWD on values widened to 16 bits. VPMADDUBSW would need no widening,
// but adds two products in 16 bits, which do not hold them.
#include "filter/rounded/cpu/tile_kernels.hpp"

#if NEARFIELD_X86

#include <immintrin.h>

#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma")
namespace nearfield::N_AVX3 {

#include "filter/rounded/cpu/avx512_test-inl.h"

// A register holds eight rows, of each two sums of two products.
struct Products {
  static constexpr std::int64_t kQueries = 8;

  static inline void run(const TileJob& job, std::int64_t group, std::int32_t* sums) {
    const std::int64_t block_bytes = job.depth * kDepthBytes;
    for (std::int64_t block = 0; block < 2; ++block) {
      const std::int8_t* rows = job.rows + (group * 2 + block) * block_bytes;
      const std::int32_t* bias = job.bias + group * kGroupRows + block * kBlockRows;
      for (std::int64_t first = 0; first < job.used; first += kQueries) {
        run_block(job, rows, bias, first, sums + block * kBlockRows);
      }
    }
  }

  static inline void run_block(const TileJob& job, const std::int8_t* rows,
                               const std::int32_t* bias, std::int64_t first, std::int32_t* sums) {
    __m512i sum[kQueries][2];
    for (auto& of_query : sum) of_query[0] = of_query[1] = _mm512_setzero_si512();
    const std::byte* query = job.queries + first * job.query_stride;
    for (std::int64_t k = 0; k < job.depth; ++k) {
      __m512i wide[2];
      for (std::int64_t half = 0; half < 2; ++half) {
        wide[half] = _mm512_cvtepi8_epi16(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + k * 64 + half * 32)));
      }
      for (std::int64_t q = 0; q < kQueries; ++q) {
        const __m512i four =
            _mm512_broadcastq_epi64(_mm_loadu_si64(query + q * job.query_stride + k * 8));
        for (std::int64_t half = 0; half < 2; ++half) {
          sum[q][half] = _mm512_add_epi32(sum[q][half], _mm512_madd_epi16(wide[half], four));
        }
      }
    }
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    for (std::int64_t q = 0; q < kQueries; ++q) {
      const __m512i total = _mm512_add_epi32(_mm512_permutex2var_epi32(sum[q][0], even, sum[q][1]),
                                             _mm512_permutex2var_epi32(sum[q][0], odd, sum[q][1]));
      _mm512_store_si512(sums + (first + q) * kGroupRows,
                         _mm512_add_epi32(total, _mm512_loadu_si512(bias)));
    }
  }
};

#include "filter/rounded/cpu/tile_loop-inl.h"

void run(TileJob& job) { run_tiles(job); }

}  // namespace nearfield::N_AVX3
HWY_POP_ATTRIBUTES

namespace nearfield {
const TileKernel kAvx512Tiles{"AVX-512", QueryForm::words, N_AVX3::run, 40};
}

#endif
