// AVX-512 VNNI: VPDPBUSD adds four products of bytes to each of 16 sums.
#include "filter/rounded/cpu/tile_kernels.hpp"

#if NEARFIELD_X86

#include <immintrin.h>

#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vnni,fma")
namespace nearfield::N_AVX3_DL {

#include "filter/rounded/cpu/avx512_test-inl.h"

// Eight queries and two blocks: 16 sums hide the five cycles that one addition takes, and each
// value loaded is used twice or eight times.
struct Products {
  static constexpr std::int64_t kQueries = 8;

  static inline void run(const TileJob& job, std::int64_t group, std::int32_t* sums) {
    const std::int64_t block_bytes = job.depth * kDepthBytes;
    const std::int8_t* left = job.rows + group * 2 * block_bytes;
    const std::int8_t* right = left + block_bytes;
    const std::int32_t* bias = job.bias + group * kGroupRows;
    for (std::int64_t first = 0; first < job.used; first += kQueries) {
      __m512i sum[kQueries][2];
      for (std::int64_t q = 0; q < kQueries; ++q) {
        sum[q][0] = _mm512_loadu_si512(bias);
        sum[q][1] = _mm512_loadu_si512(bias + 16);
      }
      const std::byte* query = job.queries + first * job.query_stride;
      for (std::int64_t k = 0; k < job.depth; ++k) {
        const __m512i rows[2] = {_mm512_loadu_si512(left + k * 64),
                                 _mm512_loadu_si512(right + k * 64)};
        for (std::int64_t q = 0; q < kQueries; ++q) {
          std::int32_t four;
          __builtin_memcpy(&four, query + q * job.query_stride + k * 4, 4);
          sum[q][0] = _mm512_dpbusd_epi32(sum[q][0], _mm512_set1_epi32(four), rows[0]);
          sum[q][1] = _mm512_dpbusd_epi32(sum[q][1], _mm512_set1_epi32(four), rows[1]);
        }
      }
      for (std::int64_t q = 0; q < kQueries; ++q) {
        _mm512_store_si512(sums + (first + q) * kGroupRows, sum[q][0]);
        _mm512_store_si512(sums + (first + q) * kGroupRows + 16, sum[q][1]);
      }
    }
  }
};

#include "filter/rounded/cpu/tile_loop-inl.h"

void run(TileJob& job) { run_tiles(job); }

}  // namespace nearfield::N_AVX3_DL
HWY_POP_ATTRIBUTES

namespace nearfield {
const TileKernel kVnniTiles{"AVX-512 VNNI", QueryForm::offset_bytes, N_AVX3_DL::run, 100};
}

#endif
