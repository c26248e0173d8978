// What the tile kernels of an ISA have in common. Included inside its namespace, after
//   struct Products: run(job, group, meanwhile, sums), all sums of a group, [query][row];
//   round_thresholds(job, terms, out), and collect(sums, thresholds, job, first_row).

// Two groups of sums: while one is being computed, the other is compared. On AMX the products of a
// group keep the tile unit busy for 128 cycles at 128 dimensions, in which the vector ports compare
// the group before; what compares must stand before what stores the new sums, since the stores wait
// for the products, and the reorder buffer is full of them (8.6 against 7.5 G sums/s).
static inline void run_tiles(TileJob& job) {
  alignas(64) std::int32_t sums[2][kTileQueries * kGroupRows];
  alignas(64) std::int32_t thresholds[kTileQueries];
  for (std::int64_t& count : job.counts) count = 0;
  const auto compare = [&](std::int64_t group) {
    round_thresholds(job, job.terms[group], thresholds);
    collect(sums[group % 2], thresholds, job, group * kGroupRows);
  };
  Products::run(
      job, 0, [] {}, sums[0]);
  for (std::int64_t group = 1; group < job.groups; ++group) {
    Products::run(
        job, group, [&] { compare(group - 1); }, sums[group % 2]);
  }
  compare(job.groups - 1);
}
