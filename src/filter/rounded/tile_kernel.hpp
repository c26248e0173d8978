// Products of rounded queries and rounded rows, and which of them are large enough.
//
// One layout for every ISA. Rows: 16 make a block; of block b, byte [k][r][j] is value 4 k + j of
// row r, so that 64 bytes hold four values of each of its rows: a row of an AMX tile, a register of
// VNNI, two of AVX2. Two blocks make a group, which shares what its rows lose by rounding. Queries:
// one after the other, zero-padded to a multiple of 64 values. What lies behind a row's last value
// may be anything: the query has zeros there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nearfield/isa.hpp>

#include "filter/nearest_keys.hpp"

namespace nearfield {

inline constexpr std::int64_t kBlockRows = 16;
inline constexpr std::int64_t kGroupRows = 2 * kBlockRows;
inline constexpr std::int64_t kTileQueries = 32;
inline constexpr std::int64_t kMostTileRows = 1024;  // of a job
inline constexpr std::int64_t kTileBytes = 1024;  // of an AMX tile; read at a time behind a block
inline constexpr std::int64_t kDepthBytes = 64;   // of a row in a tile
// Of rows or queries, made between two looks at the cancel token: some milliseconds.
inline constexpr std::int64_t kBytesPerTask = 1 << 19;

// Products, and all that is added to them, stay below this; so do thresholds less a bias below
// twice of it, if no bias is as small as -kLargestProduct.
inline constexpr std::int32_t kLargestProduct = 1 << 30;

// What a group's rows have in common, for the thresholds.
struct GroupTerms {
  float loss = 0;
  float other = 0;  // of distances half the square of the loss, of products the length
};

// A pair is found if
//   sum of query[i] * row[i] + bias[row] >=
//       level[query] + per_loss[query] * loss + per_other[query] * other
// where the right side is rounded to an integer, up or down. A level of -infinity finds every row,
// one of +infinity none but those whose bias is kLargestProduct. If there is a column_bias, a pair
// is also found if
//   the left side + column_bias[row] >= column_level[query]
// so that a row finds queries too.
struct TileJob {
  const std::byte* queries;   // kTileQueries of them, in the kernel's form
  std::int64_t used;          // so many of them are looked at; nothing is said of the others
  std::int64_t query_stride;  // bytes
  const std::int8_t* rows;
  const std::int32_t* bias;
  const GroupTerms* terms;
  std::int64_t groups;
  std::int64_t depth;  // of a row: groups of four values
  const float* level;  // kTileQueries of each
  const float* per_loss;
  const float* per_other;
  const std::int32_t* column_bias;   // of each row, from -2^28 to 2^29, or null
  const std::int32_t* column_level;  // kTileQueries, from -2^29 to 2^29, or null

  // Of query q, its finds are at q * room. Rows are counted from the first of the job.
  std::uint32_t* found_rows;
  std::int32_t* found_sums;  // the left side
  std::int64_t room;         // at least 32 more than there are rows
  std::int64_t counts[kTileQueries];
  bool rows_from_memory = false;  // no other job reads them about now: they are in no cache
};

// Offers each query of a tile its rows and each row its queries. The key of a pair is an integer,
//   query_odd[query] + row_term[row] - 2^shift * (sum of query[i] * row[i] - query_level[query])
// none beyond NearestKeys::kLargestKey.
struct NearestTileJob {
  const std::byte* queries;  // these as in TileJob
  std::int64_t used;
  std::int64_t query_stride;
  const std::int8_t* rows;
  std::int64_t groups;
  std::int64_t depth;
  bool rows_from_memory;

  std::int64_t row_count;           // so many of the groups' rows are offered
  const std::int32_t* query_level;  // kTileQueries, from -2^29 to 2^29
  const std::int32_t* query_odd;    // kTileQueries, 0 or 1
  const std::int32_t* row_term;     // of whole groups, from -2^29 to 2^29
  int shift;                        // 0 or 1

  int kept;                  // 1: nobody asks for the second nearest
  NearestPlaces of_queries;  // kTileQueries, of which those not used are left alone
  NearestPlaces of_rows;     // of whole groups, likewise
  std::int32_t first_query;  // ids
  std::int32_t first_row;
  std::int64_t offered;  // pairs; the kernel adds to it
};

enum class QueryForm {
  bytes,
  // VNNI multiplies unsigned by signed bytes: 128 is added to each, and 128 times the sum of a
  // row's values is taken off its bias.
  offset_bytes,
  words,  // 16 bits each, for what has no product of bytes
};

struct TileKernel {
  const char* name;
  QueryForm form;
  void (*run)(TileJob& job);
  double
      products_a_nanosecond;  // of one core, at least about: how much is done before one can stop
  void (*nearest)(NearestTileJob& job) = nullptr;  // null: it has none
};

// The kernel of an ISA that is available here.
const TileKernel& tile_kernel(Isa isa);

}  // namespace nearfield
