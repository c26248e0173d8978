// Keeps the nearest of queries and rows while tiles are multiplied. Included inside a namespace,
// after amx_tiles-inl.h.
//
// Sums begin with what the query adds to a key, so that the row's question is one operation for 16
// pairs, the largest of them, and the query's two. Loading that instead of zeros takes 2 ns of
// 1,024 pairs; with both sides' levels subtracted they take 155 instead of 105 ns. What a row or a
// query asks changes with every pair it keeps, not first when the tile is done.

// Of a row and the queries of a tile.
struct Keys {
  __m512i of[2];

  // The bit of the smallest key among some, of equal ones the first.
  std::uint32_t first_nearest(std::uint32_t among) const {
    const auto lower = static_cast<__mmask16>(among);
    const auto upper = static_cast<__mmask16>(among >> 16);
    const std::int32_t least = std::min(_mm512_mask_reduce_min_epi32(lower, of[0]),
                                        _mm512_mask_reduce_min_epi32(upper, of[1]));
    const __m512i wanted = _mm512_set1_epi32(least);
    const std::uint32_t found =
        static_cast<std::uint32_t>(_mm512_mask_cmpeq_epi32_mask(lower, of[0], wanted)) |
        static_cast<std::uint32_t>(_mm512_mask_cmpeq_epi32_mask(upper, of[1], wanted)) << 16;
    return found & (0 - found);
  }
};

struct NearestComparison {
  explicit NearestComparison(NearestTileJob& job) : job(job) {
    used = static_cast<std::uint32_t>((std::uint64_t{1} << job.used) - 1);
    for (std::int64_t query = 0; query < kTileQueries; ++query) {
      const bool asks = query < job.used;
      gaps[query] = asks ? gap(query) : kNobody;
      const std::int32_t level = asks ? job.query_level[query] : kNobody;
      _mm512_store_si512(start + query * kBlockRows, _mm512_set1_epi32(-level));
    }
    // GCC 12's _tile_loadd names an address and no memory: stores could sink below it.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  void start_even() const {
    _tile_loadd(0, start, 64);
    _tile_loadd(1, start + 16 * kBlockRows, 64);
  }
  void start_odd() const {
    _tile_loadd(2, start, 64);
    _tile_loadd(3, start + 16 * kBlockRows, 64);
  }
  void start_group(std::int64_t /*group*/) const {}

  // The bounds halve before they add, and so find at times what they need not: take_row knows.
  void compare(const Sums& sums, std::int64_t block) {
    __m512i for_queries = _mm512_set1_epi32(std::numeric_limits<std::int32_t>::min());
    __m512i for_rows = for_queries;
#pragma GCC unroll 32
    for (std::int64_t query = 0; query < kTileQueries; ++query) {
      const __m512i sum = sums.load(query);
      for_queries =
          _mm512_max_epi32(for_queries, _mm512_sub_epi32(sum, _mm512_set1_epi32(gaps[query])));
      for_rows = _mm512_max_epi32(for_rows, sum);
    }
    const __m512i term = _mm512_loadu_si512(job.row_term + block * kBlockRows);
    const __m512i asked = _mm512_loadu_si512(asked_by(job.of_rows) + block * kBlockRows);
    const __m512i less = _mm512_sub_epi32(term, asked);
    const __mmask16 near = _kor_mask16(_mm512_cmpge_epi32_mask(for_queries, halved(term)),
                                       _mm512_cmpge_epi32_mask(for_rows, halved(less)));
    if (__builtin_expect(!_kortestz_mask16_u8(near, near), 0)) take(sums, near, block * kBlockRows);
  }

  HWY_NOINLINE void take(const Sums& sums, std::uint32_t near, std::int64_t first_row) {
    for (; near != 0; near &= near - 1) {
      const int lane = __builtin_ctz(near);
      if (first_row + lane >= job.row_count) return;
      take_row(sums.of + lane, first_row + lane);
    }
  }

  // The keys of a row: of each query, all at once; of the row, those that are near enough.
  void take_row(const std::int32_t* sums, std::int64_t row) {
    const __m512i places =
        _mm512_setr_epi32(0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240);
    const __m512i term = _mm512_set1_epi32(job.row_term[row]);
    const __m512i asked = _mm512_set1_epi32(asked_by(job.of_rows)[row]);
    const __m512i id = _mm512_set1_epi32(job.first_row + static_cast<std::int32_t>(row));
    Keys keys;
    std::uint32_t near = 0;
    std::uint32_t near_row = 0;
    for (int half = 0; half < 2; ++half) {
      const int at = half * 16;
      const __m512i sum = _mm512_i32gather_epi32(places, sums + at * kBlockRows, 4);
      const auto of_half = static_cast<__mmask16>(used >> at);
      const __m512i odd = _mm512_maskz_loadu_epi32(of_half, job.query_odd + at);
      const __m512i key = _mm512_sub_epi32(_mm512_add_epi32(term, odd), shifted(sum));
      keys.of[half] = key;
      near |= static_cast<std::uint32_t>(offer_to_queries(at, of_half, key, odd, id)) << at;
      near_row |= static_cast<std::uint32_t>(_mm512_mask_cmple_epi32_mask(of_half, key, asked))
                  << at;
    }
    job.offered += __builtin_popcount(near | near_row);
    if (near_row != 0) offer_to_row(row, near_row, keys);
  }

  // As NearestPlaces::offer, 16 times. Returns who asked for as much.
  __mmask16 offer_to_queries(int at, __mmask16 of_half, __m512i key, __m512i odd, __m512i id) {
    const NearestPlaces to = job.of_queries.from(at);
    const __m512i first = _mm512_maskz_loadu_epi32(of_half, to.first);
    const __m512i second = _mm512_maskz_loadu_epi32(of_half, to.second);
    const __m512i ids = _mm512_maskz_loadu_epi32(of_half, to.ids);
    const __mmask16 as_near = _mm512_mask_cmpeq_epi32_mask(of_half, key, first);
    const __mmask16 nearest = _kor_mask16(_mm512_mask_cmplt_epi32_mask(of_half, key, first),
                                          _mm512_mask_cmplt_epi32_mask(as_near, id, ids));
    const __m512i new_first = _mm512_min_epi32(first, key);
    const __m512i new_second = _mm512_min_epi32(second, _mm512_max_epi32(first, key));
    _mm512_mask_storeu_epi32(to.first, of_half, new_first);
    _mm512_mask_storeu_epi32(to.second, of_half, new_second);
    _mm512_mask_storeu_epi32(to.ids, nearest, id);
    const __m512i asks = job.kept == 1 ? new_first : new_second;
    _mm512_mask_storeu_epi32(gaps + at, of_half, halved(_mm512_sub_epi32(odd, asks)));
    return _mm512_mask_cmple_epi32_mask(of_half, key, job.kept == 1 ? first : second);
  }

  // Of many, as the first tile has for a row, the two nearest.
  void offer_to_row(std::int64_t row, std::uint32_t near, const Keys& keys) {
    constexpr int kFew = 3;
    alignas(64) std::int32_t of_queries[kTileQueries];
    _mm512_store_si512(of_queries, keys.of[0]);
    _mm512_store_si512(of_queries + 16, keys.of[1]);
    if (__builtin_popcount(near) > kFew) {
      const std::uint32_t nearest = keys.first_nearest(near);
      near = nearest | keys.first_nearest(near & ~nearest);
    }
    for (; near != 0; near &= near - 1) {
      const int query = __builtin_ctz(near);
      job.of_rows.offer(row, of_queries[query], job.first_query + query);
    }
  }

  const std::int32_t* asked_by(const NearestPlaces& places) const {
    return job.kept == 1 ? places.first : places.second;
  }
  std::int32_t gap(std::int64_t query) const {
    return (job.query_odd[query] - asked_by(job.of_queries)[query]) >> job.shift;
  }
  __m512i halved(__m512i x) const { return _mm512_sra_epi32(x, _mm_cvtsi32_si128(job.shift)); }
  __m512i shifted(__m512i x) const { return _mm512_sll_epi32(x, _mm_cvtsi32_si128(job.shift)); }

  static constexpr std::int32_t kNobody = (1 << 30) - 1;

  NearestTileJob& job;
  std::uint32_t used;
  alignas(64) std::int32_t gaps[kTileQueries];
  alignas(64) std::int32_t start[kTileQueries * kBlockRows];
};
