// Thresholds and comparisons with registers of 512 bits. Included inside a namespace.

#include "filter/rounded/cpu/append_rows-inl.h"

inline void round_thresholds(const TileJob& job, const GroupTerms& terms, std::int32_t* out) {
  const __m512 loss = _mm512_set1_ps(terms.loss);
  const __m512 other = _mm512_set1_ps(terms.other);
  const __m512 most = _mm512_set1_ps(static_cast<float>(kLargestProduct));
  for (std::int64_t q = 0; q < kTileQueries; q += 16) {
    __m512 level = _mm512_loadu_ps(job.level + q);
    level = _mm512_fmadd_ps(_mm512_loadu_ps(job.per_loss + q), loss, level);
    level = _mm512_fmadd_ps(_mm512_loadu_ps(job.per_other + q), other, level);
    level = _mm512_max_ps(_mm512_min_ps(level, most), _mm512_sub_ps(_mm512_setzero_ps(), most));
    _mm512_store_si512(out + q, _mm512_cvtps_epi32(level));
  }
}

inline void append(__m512i sums, __mmask16 found, std::int64_t first_row, std::int64_t query,
                   TileJob& job) {
  _mm512_storeu_si512(job.found_sums + query * job.room + job.counts[query],
                      _mm512_maskz_compress_epi32(found, sums));
  append_rows(found, first_row, query, job);
}

// Of a query and 16 rows from `row` of the job, whose sums these are.
inline __mmask16 reached(__m512i sum, const std::int32_t* thresholds, const TileJob& job,
                         std::int64_t query, std::int64_t row) {
  const __mmask16 found = _mm512_cmpge_epi32_mask(sum, _mm512_set1_epi32(thresholds[query]));
  if (job.column_bias == nullptr) return found;
  const __m512i column = _mm512_add_epi32(sum, _mm512_loadu_si512(job.column_bias + row));
  return found | _mm512_cmpge_epi32_mask(column, _mm512_set1_epi32(job.column_level[query]));
}

inline void collect(const std::int32_t* sums, const std::int32_t* thresholds, TileJob& job,
                    std::int64_t first_row) {
  for (std::int64_t query = 0; query < job.used; ++query) {
    for (std::int64_t half = 0; half < kGroupRows; half += 16) {
      const __m512i sum = _mm512_load_si512(sums + query * kGroupRows + half);
      const __mmask16 found = reached(sum, thresholds, job, query, first_row + half);
      if (__builtin_expect(found != 0, 0)) append(sum, found, first_row + half, query, job);
    }
  }
}
