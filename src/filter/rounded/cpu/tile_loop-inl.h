// The loop over groups. Included inside the namespace of an ISA, after
//   struct Products: run(job, group, sums), all sums of a group with their bias, [query][row];
//   round_thresholds(job, terms, out), and collect(sums, thresholds, job, first_row).

static inline void run_tiles(TileJob& job) {
  alignas(64) std::int32_t sums[kTileQueries * kGroupRows];
  alignas(64) std::int32_t thresholds[kTileQueries];
  for (std::int64_t& count : job.counts) count = 0;
  for (std::int64_t group = 0; group < job.groups; ++group) {
    Products::run(job, group, sums);
    round_thresholds(job, job.terms[group], thresholds);
    collect(sums, thresholds, job, group * kGroupRows);
  }
}
