// Counts, and which are few enough. Included inside the namespace of each Highway target.

namespace hn = hwy::HWY_NAMESPACE;

using WordTag = hn::CappedTag<std::uint32_t, 16>;
using CountTag = hn::RebindToSigned<WordTag>;
using Words = hn::Vec<WordTag>;
using Counts = hn::Vec<CountTag>;
constexpr std::int64_t kLanes = hn::MaxLanes(WordTag());

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_SCALAR

// VPOPCNTD.
template <std::int64_t kQueries>
HWY_INLINE void count(const std::uint32_t* rows, const std::uint32_t* queries, std::int64_t words,
                      Counts* counts) {
  const WordTag d;
  Words sums[kQueries];
  for (Words& sum : sums) sum = hn::Zero(d);
  for (std::int64_t w = 0; w < words; ++w) {
    const Words row = hn::Load(d, rows + w * kBlockRows);
    for (std::int64_t q = 0; q < kQueries; ++q) {
      const Words other = hn::Set(d, queries[q * words + w]);
      sums[q] = hn::Add(sums[q], hn::PopulationCount(hn::Xor(row, other)));
    }
  }
  for (std::int64_t q = 0; q < kQueries; ++q) counts[q] = hn::BitCast(CountTag(), sums[q]);
}

#else

using ByteTag = hn::Repartition<std::uint8_t, WordTag>;
using Bytes = hn::Vec<ByteTag>;

// So many words a byte counts at most 8 of each without overflow.
constexpr std::int64_t kWordsInBytes = 31;

HWY_INLINE Words sum_of_bytes(Bytes bytes) {
  const WordTag d;
  const Words words = hn::BitCast(d, bytes);
  const Words low = hn::Set(d, 0x00FF00FF);
  const Words two = hn::Add(hn::And(words, low), hn::And(hn::ShiftRight<8>(words), low));
  return hn::Add(hn::And(two, hn::Set(d, 0xFFFF)), hn::ShiftRight<16>(two));
}

// Bytes are counted by a table of 16, or by an instruction of NEON, and summed up as bytes for as
// long as these hold the sums.
template <std::int64_t kQueries>
HWY_INLINE void count(const std::uint32_t* rows, const std::uint32_t* queries, std::int64_t words,
                      Counts* counts) {
  const WordTag d;
  for (std::int64_t q = 0; q < kQueries; ++q) counts[q] = hn::Zero(CountTag());
  for (std::int64_t first = 0; first < words; first += kWordsInBytes) {
    const std::int64_t end = first + kWordsInBytes < words ? first + kWordsInBytes : words;
    Bytes sums[kQueries];
    for (Bytes& sum : sums) sum = hn::Zero(ByteTag());
    for (std::int64_t w = first; w < end; ++w) {
      const Words row = hn::Load(d, rows + w * kBlockRows);
      for (std::int64_t q = 0; q < kQueries; ++q) {
        const Words differ = hn::Xor(row, hn::Set(d, queries[q * words + w]));
        sums[q] = hn::Add(sums[q], hn::PopulationCount(hn::BitCast(ByteTag(), differ)));
      }
    }
    for (std::int64_t q = 0; q < kQueries; ++q) {
      counts[q] = hn::Add(counts[q], hn::BitCast(CountTag(), sum_of_bytes(sums[q])));
    }
  }
}

#endif

// Appends the rows of a register whose counts are few enough.
HWY_INLINE void append(const BitJob& job, std::int64_t query, Counts counts, std::uint32_t row) {
  const auto few = hn::Lt(counts, hn::Set(CountTag(), job.below[query]));
  const std::int64_t at = query * job.room + job.found[query];
  const WordTag d;
  const auto rows_few = hn::RebindMask(d, few);
  hn::StoreU(hn::Compress(hn::Iota(d, row), rows_few), d, job.found_rows + at);
  hn::StoreU(hn::Compress(counts, few), CountTag(), job.found_counts + at);
  job.found[query] += static_cast<std::int64_t>(hn::CountTrue(CountTag(), few));
}

template <std::int64_t kQueries>
HWY_INLINE void find_of(const BitJob& job, std::int64_t query) {
  const std::uint32_t* queries = job.queries + query * job.words;
  for (std::int64_t row = 0; row < job.block_count * kBlockRows; row += kLanes) {
    const std::int64_t block = row / kBlockRows;
    Counts counts[kQueries];
    count<kQueries>(job.blocks + block * kBlockRows * job.words + row % kBlockRows, queries,
                    job.words, counts);
    // One branch for all of them: that any is found is rare once there are thresholds.
    auto some = hn::Lt(counts[0], hn::Set(CountTag(), job.below[query]));
    for (std::int64_t q = 1; q < kQueries; ++q) {
      some = hn::Or(some, hn::Lt(counts[q], hn::Set(CountTag(), job.below[query + q])));
    }
    if (hn::AllFalse(CountTag(), some)) continue;
    for (std::int64_t q = 0; q < kQueries; ++q) {
      append(job, query + q, counts[q], job.first_row + static_cast<std::uint32_t>(row));
    }
  }
}

void find(const BitJob& job) {
  std::int64_t query = 0;
  for (; query + kBitQueries <= job.query_count; query += kBitQueries) {
    find_of<kBitQueries>(job, query);
  }
  for (; query < job.query_count; ++query) find_of<1>(job, query);
}
