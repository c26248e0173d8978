// Writes down what was found, with registers of 512 bits. Included inside a namespace.

// Of a query and the 16 rows from `first_row` of the job.
template <class Job>
inline void append_rows(__mmask16 found, std::int64_t first_row, std::int64_t query, Job& job) {
  const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i rows =
      _mm512_add_epi32(numbers, _mm512_set1_epi32(static_cast<std::int32_t>(first_row)));
  _mm512_storeu_si512(job.found_rows + query * job.room + job.counts[query],
                      _mm512_maskz_compress_epi32(found, rows));
  job.counts[query] += __builtin_popcount(found);
}
