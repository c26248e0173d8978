// What the tile kernels of an ISA have in common. Included inside its namespace, after
//   struct Products: run(job, group, sums), all sums of a group, [query][row];
//   round_thresholds(job, terms, out), and collect(sums, thresholds, job, first_row).

// Two groups of sums: while one is being computed, the other is compared. On AMX the products of a
// group keep the tile unit busy for 128 cycles at 128 dimensions, about as long as the vector ports
// need for the comparisons of the one before.
static inline void run_tiles(TileJob& job) {
  alignas(64) std::int32_t sums[2][kTileQueries * kGroupRows];
  alignas(64) std::int32_t thresholds[kTileQueries];
  for (std::int64_t& count : job.counts) count = 0;
  Products products;
  for (std::int64_t group = 0; group <= job.groups; ++group) {
    if (group < job.groups) products.run(job, group, sums[group % 2]);
    if (group == 0) continue;
    round_thresholds(job, job.terms[group - 1], thresholds);
    collect(sums[(group - 1) % 2], thresholds, job, (group - 1) * kGroupRows);
  }
}
