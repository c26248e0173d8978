// What is chosen on a device where nothing was measured: what was fastest on a Tesla V100 (seed:
// Hanák 2023, sections 5.4 to 5.6). `nearfield tune` makes a table for a device at hand.
#pragma once

#include <cstdint>

namespace nearfield {

struct DefaultChoice {
  // Keys and selection in one kernel, of so many columns and neighbours at most, and at least so
  // many queries: a block has several of them.
  std::int64_t most_fused_cols = 32;
  std::int64_t most_fused_k = 64;
  std::int64_t least_fused_queries = 8000;

  // Of fewer columns, keys cost little more than what proves that they are not needed.
  std::int64_t least_half_cols = 33;

  // Selections: up to the first bits, up to the second bits in global memory.
  std::int64_t most_bits_k = 2048;
  std::int64_t most_bits_in_memory_k = 4096;
  // Beyond: sample select of rows of at least so many values, radix select of shorter ones.
  std::int64_t least_sample_values = 100'000;
  // Rows of which more are selected are sorted as a whole: rows of least_sample_values, and others.
  double most_selected_of_long = 0.3;
  double most_selected_of_short = 0.5;

  // Parts of a row for one query, for bits: beyond, merging them takes more than they save. The
  // seed has 256 for k <= 512 and 128 for k > 1024.
  std::int64_t few_k = 1024;
  std::int64_t most_parts_of_few = 256;
  std::int64_t most_parts_of_many = 128;

  // Of a block. Filters take fewer rows of it where a device is slow, so that it can be as large as
  // pays on a fast one: at 10^11 pairs a second 134 million take a millisecond.
  std::int64_t query_batch = 1024;
};
inline constexpr DefaultChoice kDefaultChoice;

}  // namespace nearfield
