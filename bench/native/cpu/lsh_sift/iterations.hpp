// The thesis's way: one random table after the other, with one bucket of each for a query.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/native/cpu/lsh_sift/sift_set.hpp"

namespace nearfield::bench {

// What counts as found: the nearest, one of the ten or of the hundred nearest, or the nearest of
// queries that pass the ratio test.
inline constexpr std::array kPrecisions{"@1", "@10", "@100", "@1, ratio 0.8"};

// Of each precision, the recall after each iteration.
using RecallCurves = std::array<std::vector<double>, kPrecisions.size()>;

// Until all have reached `recall`, or for so many iterations. Only queries and their neighbours are
// hashed: a query finds a neighbour in an iteration if both have the same key. Of @10 and @100 by
// 200 of the queries, of the others by 2,000.
RecallCurves follow_recall(const SiftSet& set, int bits, double recall, std::int64_t most);

// Iterations up to a recall; 0: it was not reached.
std::int64_t iterations_to(const std::vector<double>& curve, double recall);

// Seconds of one iteration.
struct StageSeconds {
  double hash_rows = 0;  // products and bits
  double table = 0;      // rows by their keys
  double hash_queries = 0;
  double lookup = 0;
  double short_list = 0;  // two nearest of the rows in the bucket, exactly
  double tiles = 0;       // the same by products of tiles, beside all that

  double total() const { return hash_rows + table + hash_queries + lookup + short_list; }
  double of_queries() const { return hash_queries + lookup + short_list; }
};

// The mean of some iterations, in turn.
StageSeconds time_iteration(const SiftSet& set, int bits, bool sorted, std::uint64_t seed,
                            std::int64_t iterations);

}  // namespace nearfield::bench
