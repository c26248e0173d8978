// Products of queries and rows in bf16, and which of them are large enough. The layout is that of
// tile_kernel.hpp, with two values in four bytes; but what lies behind a row's last value must be
// finite, since zero times a NaN is no zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nearfield/isa.hpp>

#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {

// A pair is found if, in float32,
//   sum of query[i] * row[i] + (bias[row] + per_term[query] * term[row]) >= level[query]
// A level of -infinity finds every row. If there is a column_bias, a pair is also found if
//   sum of query[i] * row[i] + (column_bias[row] + column_term[query] * per_column[row]) >=
//       column_level[query]
// so that a row finds queries too. What the left sides may be off by: docs/exactness.md.
struct Bf16TileJob {
  const std::byte* queries;   // kTileQueries of them
  std::int64_t query_stride;  // bytes
  const std::byte* rows;
  const float* bias;
  const float* term;
  std::int64_t groups;
  std::int64_t depth;  // of a row: pairs of values
  const float* level;  // kTileQueries of each
  const float* per_term;
  const float* column_bias;   // of each row; null: the rows do not ask, and no more is read
  const float* per_column;    // of each row
  const float* column_term;   // kTileQueries
  const float* column_level;  // likewise

  // Of query q, its finds are at q * room. Rows are counted from the first of the job.
  std::uint32_t* found_rows;
  std::int64_t room;  // at least 32 more than there are rows
  std::int64_t counts[kTileQueries];
  bool rows_from_memory = false;  // as in TileJob
};

using Bf16TileKernel = void (*)(Bf16TileJob& job);

// The kernel of an ISA that is available here; null if it has none, or this CPU has not: there may
// be tiles of bytes alone.
Bf16TileKernel bf16_tile_kernel(Isa isa);

}  // namespace nearfield
