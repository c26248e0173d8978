// Groups of near-duplicates among binary codes.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>
#include <nearfield/stats.hpp>

namespace nearfield {

// Fewer rows than this: they are numbered in 32 bits.
inline constexpr std::int64_t kMostDedupRows = std::int64_t{1} << 32;

struct DedupOptions {
  // Two codes are near-duplicates if they differ in at most so many bits. 31 of 256 is what PDQ
  // recommends; of 64-bit perceptual hashes 10 is usual, and a few million of them need less.
  std::int64_t radius = 31;
};

// Two rows are in one group if near-duplicates lead from one to the other: each is near to some
// row of its group, not to every one.
struct DuplicateGroups {
  // Of each row the smallest row of its group, itself where it has no duplicate.
  std::vector<std::int64_t> first_of;

  // Groups of two rows and more, in the order of their first rows: the rows of group i are
  // rows[offsets[i]] to rows[offsets[i + 1]], rising.
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> distances;  // of each of them to the first: in how many bits

  std::int64_t distinct = 0;  // different codes

  // pairs_considered: codes that were compared, pairs_verified: that are near. Both depend on the
  // order in which threads came to them: what is in one group already is not compared where that
  // can be known at once.
  Stats stats;
};

// Exact, and the same for any number of threads. Rows that are not in memory are read into it.
DuplicateGroups dedup(const RowSource& codes, const DedupOptions& options,
                      const Context& context = {});

inline DuplicateGroups dedup(MatrixView codes, const DedupOptions& options,
                             const Context& context = {}) {
  return dedup(MatrixRows(codes), options, context);
}

}  // namespace nearfield
