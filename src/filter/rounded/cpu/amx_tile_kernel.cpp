// AMX: TDPBSSD multiplies 16 queries by 16 rows, 64 values deep, in 16 cycles.
#include "filter/rounded/cpu/tile_kernels.hpp"

#if NEARFIELD_X86

#include <immintrin.h>

#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma,amx-tile,amx-int8")
namespace nearfield::N_AMX {

#include "filter/rounded/cpu/avx512_test-inl.h"

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Tiles 0 to 3 hold the sums of two times 16 queries and two blocks, 4 and 5 the queries, 6 and 7
// the blocks. The bias is loaded with a stride of 0: the same 16 numbers for each query.
struct Products {
  template <class Meanwhile>
  static inline void run(const TileJob& job, std::int64_t group, const Meanwhile& meanwhile,
                         std::int32_t* sums) {
    const std::int64_t block_bytes = job.depth * kDepthBytes;
    const std::int8_t* left = job.rows + group * 2 * block_bytes;
    const std::int8_t* right = left + block_bytes;
    const std::int32_t* bias = job.bias + group * kGroupRows;
    _tile_loadd(0, bias, 0);
    _tile_loadd(1, bias + 16, 0);
    _tile_loadd(2, bias, 0);
    _tile_loadd(3, bias + 16, 0);
    const std::byte* upper = job.queries;
    const std::byte* lower = job.queries + 16 * job.query_stride;
    for (std::int64_t k = 0; k < job.query_stride; k += kDepthBytes) {
      _tile_loadd(4, upper + k, job.query_stride);
      _tile_loadd(6, left + k * 16, 64);
      _tile_dpbssd(0, 4, 6);
      _tile_loadd(7, right + k * 16, 64);
      _tile_dpbssd(1, 4, 7);
      _tile_loadd(5, lower + k, job.query_stride);
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
    meanwhile();
    constexpr std::int64_t kStride = kGroupRows * sizeof(std::int32_t);
    _tile_stored(0, sums, kStride);
    _tile_stored(1, sums + 16, kStride);
    _tile_stored(2, sums + 16 * kGroupRows, kStride);
    _tile_stored(3, sums + 16 * kGroupRows + 16, kStride);
  }
};

#include "filter/rounded/cpu/tile_loop-inl.h"

void run(TileJob& job) {
  const TileConfig config;
  _tile_loadconfig(&config);
  run_tiles(job);
  _tile_release();
}

}  // namespace nearfield::N_AMX
HWY_POP_ATTRIBUTES

namespace nearfield {
const TileKernel kAmxTiles{"AMX", QueryForm::bytes, N_AMX::run};
}

#endif
