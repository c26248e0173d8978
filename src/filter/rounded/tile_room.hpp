#pragma once

#include <array>
#include <cstdint>

#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {

// What a tile kernel reads of thresholds and what it writes: 272 KiB, of which it touches what is
// found.
struct TileRoom {
  static constexpr std::int64_t kRowsPerQuery = kMostTileRows + kGroupRows;

  std::array<float, kTileQueries> level;
  std::array<float, kTileQueries> per_loss;
  std::array<float, kTileQueries> per_other;
  std::array<std::int32_t, kMostTileRows> column_bias;
  std::array<std::int32_t, kTileQueries> column_level;
  std::array<std::uint32_t, kTileQueries * kRowsPerQuery> rows;
  std::array<std::int32_t, kTileQueries * kRowsPerQuery> sums;
  TileJob job;
};

}  // namespace nearfield
