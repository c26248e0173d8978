// Plain C++, for what has no kernel of its own; compilers turn it into the vector instructions that
// every CPU of the architecture has.
#include <algorithm>
#include <cmath>

#include "filter/rounded/cpu/tile_kernels.hpp"

namespace nearfield {
namespace portable {

void round_thresholds(const TileJob& job, const GroupTerms& terms, std::int32_t* out) {
  constexpr auto kMost = static_cast<float>(kLargestProduct);
  for (std::int64_t q = 0; q < kTileQueries; ++q) {
    const float level =
        job.level[q] + job.per_loss[q] * terms.loss + job.per_other[q] * terms.other;
    // Also where it is no number, as terms of a file that was changed may make it.
    const bool every = !(level >= -2 * kMost);
    out[q] = every ? INT32_MIN : static_cast<std::int32_t>(std::min(level, kMost));
  }
}

void collect(const std::int32_t* sums, const std::int32_t* thresholds, TileJob& job,
             std::int64_t first_row) {
  for (std::int64_t query = 0; query < job.used; ++query) {
    for (std::int64_t row = 0; row < kGroupRows; ++row) {
      const std::int32_t sum = sums[query * kGroupRows + row];
      const bool found_by_row =
          job.column_bias != nullptr &&
          std::int64_t{sum} + job.column_bias[first_row + row] >= job.column_level[query];
      if (sum < thresholds[query] && !found_by_row) continue;
      const std::int64_t at = query * job.room + job.counts[query]++;
      job.found_rows[at] = static_cast<std::uint32_t>(first_row + row);
      job.found_sums[at] = sum;
    }
  }
}

struct Products {
  static inline void run(const TileJob& job, std::int64_t group, std::int32_t* sums) {
    const std::int64_t block_bytes = job.depth * kDepthBytes;
    for (std::int64_t block = 0; block < 2; ++block) {
      const std::int8_t* rows = job.rows + (group * 2 + block) * block_bytes;
      const std::int32_t* bias = job.bias + group * kGroupRows + block * kBlockRows;
      for (std::int64_t query = 0; query < job.used; ++query) {
        run_query(job, rows, bias,
                  reinterpret_cast<const std::int8_t*>(job.queries + query * job.query_stride),
                  sums + query * kGroupRows + block * kBlockRows);
      }
    }
  }

  static void run_query(const TileJob& job, const std::int8_t* rows, const std::int32_t* bias,
                        const std::int8_t* query, std::int32_t* sums) {
    std::uint32_t sum[kBlockRows];  // a bias of a file that was changed may be any: it wraps around
    std::copy_n(bias, kBlockRows, sum);
    for (std::int64_t k = 0; k < job.depth; ++k) {
      for (std::int64_t row = 0; row < kBlockRows; ++row) {
        const std::int8_t* four = rows + k * 64 + row * 4;
        sum[row] +=
            static_cast<std::uint32_t>(query[4 * k] * four[0] + query[4 * k + 1] * four[1] +
                                       query[4 * k + 2] * four[2] + query[4 * k + 3] * four[3]);
      }
    }
    std::copy_n(sum, kBlockRows, sums);
  }
};

#include "filter/rounded/cpu/tile_loop-inl.h"

}  // namespace portable

const TileKernel kPortableTiles{"portable", QueryForm::bytes, portable::run_tiles, 2};

}  // namespace nearfield
