// The loop that computes keys, for any metric and any type of row. Included inside the namespace of
// each Highway target, after packs-inl.h, metric_with.h and sum_tree.h.

// Rows at once: a float64 addition takes 4 cycles and the definition allows one chain of them a
// row and sum, so four rows keep the two vector ports of an x86 core busy. SSSE3 and NEON need four
// registers a pack: two rows fill their sixteen or more.
template <class M>
constexpr std::int64_t kRowsAtOnce = M::sums > 1 ? 1 : (kParts > 2 ? 2 : 4);

template <class M, class Row>
void compute_keys(const KeyJob& job) {
  using Pack = typename Row::Pack;
  constexpr std::int64_t kRows = kRowsAtOnce<M>;
  const M metric = metric_with<M>(job.p, 0);
  const std::int64_t steps = job.row_bytes / Row::step_bytes;
  const std::int64_t tail_bytes = job.row_bytes % Row::step_bytes;

  for (std::int64_t first = 0; first < job.count; first += kRows) {
    const std::byte* row[kRows];
    Pack sums[kRows][M::sums];
    for (std::int64_t r = 0; r < kRows; ++r) {
      // Past the end the last row stands in; its key is not written twice.
      const std::int64_t i = first + r < job.count ? first + r : job.count - 1;
      row[r] = job.rows + (job.picks != nullptr ? job.picks[i] : i) * job.stride;
      for (int s = 0; s < M::sums; ++s) set_zero(sums[r][s]);
    }

    for (std::int64_t step = 0; step < steps; ++step) {
      const Pack query = Row::load_query(job.query + step * 64);
      for (std::int64_t r = 0; r < kRows; ++r) {
        metric.template accumulate<Pack>(sums[r], query,
                                         Row::load(row[r] + step * Row::step_bytes));
      }
    }
    if (tail_bytes != 0) {
      const Pack query = Row::load_query(job.query + steps * 64);
      for (std::int64_t r = 0; r < kRows; ++r) {
        alignas(64) std::byte tail[64] = {};
        __builtin_memcpy(tail, row[r] + steps * Row::step_bytes,
                         static_cast<std::size_t>(tail_bytes));
        metric.template accumulate<Pack>(sums[r], query, Row::load(tail));
      }
    }

    for (std::int64_t r = 0; r < kRows && first + r < job.count; ++r) {
      double partial[8 * M::sums];
      for (int s = 0; s < M::sums; ++s) store(sums[r][s], partial + 8 * s);
      job.keys[first + r] = key_from_sums<M>(partial);
    }
  }
}

// A constant: an initialiser that runs would run this target's instructions at the start of every
// program, on any CPU.
template <class M>
constexpr MetricKernels kernels_of() {
  constexpr const char* target = HWY_STR(HWY_NAMESPACE);
  if constexpr (M::input == MetricInput::bits) {
    return {target,
            {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, compute_keys<M, BitRow>}};
  } else {
    return {target,
            {compute_keys<M, NumberRow<double>>, compute_keys<M, NumberRow<float>>,
             compute_keys<M, NumberRow<Float16>>, compute_keys<M, NumberRow<BFloat16>>,
             compute_keys<M, NumberRow<std::uint8_t>>, compute_keys<M, NumberRow<std::int8_t>>,
             nullptr}};
  }
}
