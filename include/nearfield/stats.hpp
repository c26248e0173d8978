// What will run (Plan) and what ran (Stats).
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/isa.hpp>

namespace nearfield {

// Decided before a search from its shape and the context alone; the search follows it. But whether
// tiles are of int8 or of bf16 may depend on the rows: then `filter` names both, and that of Stats
// what was taken. It goes by the first queries and rows, so that where a memory limit cuts them it
// may depend on the number of threads too. An answer never does.
struct Plan {
  std::string device = "cpu";  // or another of devices(): "opencl:0"
  Isa isa = Isa::scalar;       // of what runs on the CPU
  std::string filter;          // what drops rows before their key is computed
  std::string kernel;          // what computes keys: "sqeuclidean/f32/avx2"
  std::string selector;        // what keeps the best
  int threads = 1;
  std::int64_t query_batch = 0;  // queries answered in one pass over the base
  std::int64_t base_chunk = 0;   // rows of the base in memory at a time
  std::int64_t passes = 0;       // times the base is read
  std::int64_t query_tile = 0;   // block handed to the kernels: queries x rows
  std::int64_t row_tile = 0;
  std::int64_t row_parts = 1;      // parts of the base searched side by side, then merged
  std::int64_t pairs = 0;          // (query, row) pairs to look at
  std::int64_t result_bytes = 0;   // the answer
  std::int64_t working_bytes = 0;  // everything else allocated while searching
  // Of these, for each row of a chunk: at most what the filter makes of it.
  std::int64_t filter_row_bytes = 0;
  // Of what is asked for, the share that theory expects to be found: below 1 where the answer is
  // approximate, NaN where it is and no theory says by how much.
  double expected_recall = 1;
  std::string note;  // what else was decided, and why; on the CPU mostly empty
};

// Several lines of text, for people.
std::string to_string(const Plan& plan);

struct Stats {
  Plan plan;
  std::int64_t pairs_considered = 0;  // (query, row) pairs the filter looked at
  std::int64_t pairs_verified = 0;    // pairs that it let through, to be decided by their true keys
  double seconds = 0;
};

}  // namespace nearfield
