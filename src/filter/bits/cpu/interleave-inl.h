// Rows to blocks of 16. Included inside the namespace of each Highway target.

// The last bytes of a row, fewer than 16, then zeros. In steps of fixed size: a copy of any size is
// a call, which for rows of 24 bytes took longer than all the rest.
HWY_INLINE void load_tail(const std::byte* bytes, std::int64_t count, std::uint32_t* four) {
  auto* out = reinterpret_cast<std::byte*>(four);
  __builtin_memset(out, 0, 16);
  if ((count & 8) != 0) {
    __builtin_memcpy(out, bytes, 8);
    out += 8;
    bytes += 8;
  }
  if ((count & 4) != 0) {
    __builtin_memcpy(out, bytes, 4);
    out += 4;
    bytes += 4;
  }
  for (std::int64_t i = 0; i < (count & 3); ++i) out[i] = bytes[i];
}

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void interleave_four(const std::uint32_t* const* rows, std::int64_t words,
                                std::uint32_t* out) {
  for (std::int64_t w = 0; w < words; ++w) {
    for (std::int64_t r = 0; r < 4; ++r) __builtin_memcpy(out + w * kBlockRows + r, rows[r] + w, 4);
  }
}

HWY_INLINE void interleave_two(const std::uint32_t* const* rows, std::uint32_t* out) {
  interleave_four(rows, 2, out);
}

#else

// Four words, or fewer at its end, of four rows: 16 bytes of each are read.
HWY_INLINE void interleave_four(const std::uint32_t* const* rows, std::int64_t words,
                                std::uint32_t* out) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::FixedTag<std::uint64_t, 2> pairs;
  const auto a = hn::LoadU(d, rows[0]);
  const auto b = hn::LoadU(d, rows[1]);
  const auto c = hn::LoadU(d, rows[2]);
  const auto e = hn::LoadU(d, rows[3]);
  const auto low_ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto low_ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto high_ab = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto high_ce = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, low_ab, low_ce)), d, out);
  if (words < 2) return;
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, low_ab, low_ce)), d, out + kBlockRows);
  if (words < 3) return;
  hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, high_ab, high_ce)), d, out + 2 * kBlockRows);
  if (words < 4) return;
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, high_ab, high_ce)), d, out + 3 * kBlockRows);
}

// Two words of four rows, the last of each. Through memory, as other tails, one query over
// 2,000,000 rows of 64 bits took 4.5 ms instead of 1.4 on a Xeon with AVX-512: what was stored as 8
// bytes is not there yet when 16 of them are loaded.
HWY_INLINE void interleave_two(const std::uint32_t* const* rows, std::uint32_t* out) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::FixedTag<std::uint32_t, 2> half;
  const auto ab = hn::Combine(d, hn::LoadU(half, rows[1]), hn::LoadU(half, rows[0]));
  const auto ce = hn::Combine(d, hn::LoadU(half, rows[3]), hn::LoadU(half, rows[2]));
  hn::Store(hn::ConcatEven(d, ce, ab), d, out);
  hn::Store(hn::ConcatOdd(d, ce, ab), d, out + kBlockRows);
}

#endif

// Bytes. While a block is counted nobody reads, and the CPU does not read ahead: without this, one
// query at a time of 512 bits ran at 62 % of the bandwidth, with it at 80 to 83 (1 KiB: 72 to 75,
// 4 KiB: 70 to 83).
constexpr std::int64_t kReadAhead = 2048;

// Of rows first to first + 3: a quarter of a block.
HWY_INLINE void interleave_quarter(const PackedRows& rows, std::int64_t first, std::uint32_t* out) {
  const std::byte* row[4];
  for (std::int64_t r = 0; r < 4; ++r) {
    const std::int64_t i = first + r < rows.count ? first + r : rows.count - 1;
    row[r] = rows.first + i * rows.stride;
  }
  const std::uint32_t* four[4];
  std::int64_t done = 0;
  for (; done + 16 <= rows.bytes; done += 16, out += 4 * kBlockRows) {
    for (std::int64_t r = 0; r < 4; ++r) {
      if (done % 64 == 0) __builtin_prefetch(row[r] + done + kReadAhead);
      four[r] = reinterpret_cast<const std::uint32_t*>(row[r] + done);
    }
    interleave_four(four, 4, out);
  }
  const std::int64_t tail = rows.bytes - done;
  if (tail == 8) {
    for (std::int64_t r = 0; r < 4; ++r) {
      four[r] = reinterpret_cast<const std::uint32_t*>(row[r] + done);
    }
    interleave_two(four, out);
  } else if (tail > 0) {
    std::uint32_t words[4][4];
    for (std::int64_t r = 0; r < 4; ++r) {
      load_tail(row[r] + done, tail, words[r]);
      four[r] = words[r];
    }
    interleave_four(four, (tail + 3) / 4, out);
  }
}

void interleave(const PackedRows& rows, std::uint32_t* blocks) {
  const std::int64_t words = (rows.bytes + 3) / 4;
  for (std::int64_t first = 0; first < rows.count; first += kBlockRows) {
    for (std::int64_t quarter = 0; quarter < kBlockRows; quarter += 4) {
      interleave_quarter(rows, first + quarter, blocks + first * words + quarter);
    }
  }
}
