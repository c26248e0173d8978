// AVX2: VPMADDWD on values widened to 16 bits, as on AVX-512 without VNNI.
#include "filter/rounded/cpu/tile_kernels.hpp"

#if NEARFIELD_X86

#include <immintrin.h>

#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,bmi,bmi2,popcnt,lzcnt")
namespace nearfield::N_AVX2 {

inline void round_thresholds(const TileJob& job, const GroupTerms& terms, std::int32_t* out) {
  const __m256 loss = _mm256_set1_ps(terms.loss);
  const __m256 other = _mm256_set1_ps(terms.other);
  const __m256 most = _mm256_set1_ps(static_cast<float>(kLargestProduct));
  for (std::int64_t q = 0; q < kTileQueries; q += 8) {
    __m256 level = _mm256_loadu_ps(job.level + q);
    level = _mm256_fmadd_ps(_mm256_loadu_ps(job.per_loss + q), loss, level);
    level = _mm256_fmadd_ps(_mm256_loadu_ps(job.per_other + q), other, level);
    // What is too small for an integer becomes the smallest.
    _mm256_store_si256(reinterpret_cast<__m256i*>(out + q),
                       _mm256_cvtps_epi32(_mm256_min_ps(level, most)));
  }
}

inline void collect(const std::int32_t* sums, const std::int32_t* thresholds, TileJob& job,
                    std::int64_t first_row) {
  for (std::int64_t query = 0; query < job.used; ++query) {
    const __m256i threshold = _mm256_set1_epi32(thresholds[query]);
    std::uint32_t less = 0;
    for (int part = 0; part < 4; ++part) {
      const __m256i sum =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + query * kGroupRows + part * 8));
      __m256i lanes = _mm256_cmpgt_epi32(threshold, sum);
      if (job.column_bias != nullptr) {
        const __m256i bias = _mm256_loadu_si256(
            reinterpret_cast<const __m256i*>(job.column_bias + first_row + part * 8));
        const __m256i level = _mm256_set1_epi32(job.column_level[query]);
        lanes = _mm256_and_si256(lanes, _mm256_cmpgt_epi32(level, _mm256_add_epi32(sum, bias)));
      }
      less |= static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)))
              << (8 * part);
    }
    for (std::uint32_t found = ~less; found != 0; found &= found - 1) {
      const std::int64_t row = __builtin_ctz(found);
      const std::int64_t at = query * job.room + job.counts[query]++;
      job.found_rows[at] = static_cast<std::uint32_t>(first_row + row);
      job.found_sums[at] = sums[query * kGroupRows + row];
    }
  }
}

// A register holds four rows, of each two sums of two products. Four queries and eight rows make
// eight sums; with more, the sixteen registers would not do.
struct Products {
  static constexpr std::int64_t kQueries = 4;
  static constexpr std::int64_t kRows = 8;

  static inline void run(const TileJob& job, std::int64_t group, std::int32_t* sums) {
    const std::int64_t block_bytes = job.depth * kDepthBytes;
    for (std::int64_t first_row = 0; first_row < kGroupRows; first_row += kRows) {
      const std::int8_t* rows = job.rows + (group * 2 + first_row / kBlockRows) * block_bytes +
                                first_row % kBlockRows * 4;
      const std::int32_t* bias = job.bias + group * kGroupRows + first_row;
      for (std::int64_t first = 0; first < job.used; first += kQueries) {
        run_part(job, rows, bias, first, sums + first_row);
      }
    }
  }

  static inline void run_part(const TileJob& job, const std::int8_t* rows, const std::int32_t* bias,
                              std::int64_t first, std::int32_t* sums) {
    __m256i sum[kQueries][2];
    for (auto& of_query : sum) of_query[0] = of_query[1] = _mm256_setzero_si256();
    const std::byte* query = job.queries + first * job.query_stride;
    for (std::int64_t k = 0; k < job.depth; ++k) {
      __m256i wide[2];
      for (std::int64_t half = 0; half < 2; ++half) {
        wide[half] = _mm256_cvtepi8_epi16(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + k * 64 + half * 16)));
      }
      for (std::int64_t q = 0; q < kQueries; ++q) {
        const __m256i four =
            _mm256_broadcastq_epi64(_mm_loadu_si64(query + q * job.query_stride + k * 8));
        for (std::int64_t half = 0; half < 2; ++half) {
          sum[q][half] = _mm256_add_epi32(sum[q][half], _mm256_madd_epi16(wide[half], four));
        }
      }
    }
    const __m256i biases = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bias));
    for (std::int64_t q = 0; q < kQueries; ++q) {
      // It adds pairs within halves of 128 bits: rows 0 1 4 5 2 3 6 7.
      const __m256i total =
          _mm256_permute4x64_epi64(_mm256_hadd_epi32(sum[q][0], sum[q][1]), 0b11'01'10'00);
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums + (first + q) * kGroupRows),
                         _mm256_add_epi32(total, biases));
    }
  }
};

#include "filter/rounded/cpu/tile_loop-inl.h"

void run(TileJob& job) { run_tiles(job); }

}  // namespace nearfield::N_AVX2
HWY_POP_ATTRIBUTES

namespace nearfield {
const TileKernel kAvx2Tiles{"AVX2", QueryForm::words, N_AVX2::run, 20};
}

#endif
