// Products of tiles of bytes, and nothing else: what a core with AMX can multiply. The limit of
// exact search on bytes, and on floats by bytes. Compiled and called by bench/peers/native.py.

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace {

constexpr int tile_rows = 16;
constexpr int row_bytes = 64;
constexpr int tile_bytes = tile_rows * row_bytes;

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

}  // namespace

extern "C" {

// Asks the kernel for tiles, for all threads of the process. 0 if it has none for us.
int allow_tiles() {
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0 ? 1 : 0;
}

// `products` products of 16 x 64 bytes by 64 x 16, added up where they belong. `left` and `right`
// are two tiles each, `sums` is four: of left 0 and right 0, 0 and 1, 1 and 0, 1 and 1. Each sum is
// asked for again only after three others, so that none waits for itself: the unit is busy all the
// time. Nothing is loaded between the products. The intrinsics are volatile: all of them are
// executed.
void multiply_tiles(const std::uint8_t* left, const std::uint8_t* right, std::int32_t* sums,
                    std::int64_t products) {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.bytes[tile] = row_bytes;
    config.rows[tile] = tile_rows;
  }
  _tile_loadconfig(&config);
  // Tiles 0 to 3 hold the sums, 4 and 5 the left side, 6 and 7 the right one.
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, left, row_bytes);
  _tile_loadd(5, left + tile_bytes, row_bytes);
  _tile_loadd(6, right, row_bytes);
  _tile_loadd(7, right + tile_bytes, row_bytes);
  for (std::int64_t four = products / 4; four > 0; --four) {
    _tile_dpbuud(0, 4, 6);
    _tile_dpbuud(1, 4, 7);
    _tile_dpbuud(2, 5, 6);
    _tile_dpbuud(3, 5, 7);
  }
  const std::int64_t rest = products % 4;
  if (rest > 0) {
    _tile_dpbuud(0, 4, 6);
  }
  if (rest > 1) {
    _tile_dpbuud(1, 4, 7);
  }
  if (rest > 2) {
    _tile_dpbuud(2, 5, 6);
  }
  constexpr int sums_a_tile = tile_bytes / 4;
  _tile_stored(0, sums, row_bytes);
  _tile_stored(1, sums + sums_a_tile, row_bytes);
  _tile_stored(2, sums + 2 * sums_a_tile, row_bytes);
  _tile_stored(3, sums + 3 * sums_a_tile, row_bytes);
  _tile_release();
}

}  // extern "C"
