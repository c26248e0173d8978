#pragma once

#include <array>
#include <cstdint>

#include "filter/rounded/bf16_tile_kernel.hpp"
#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {

// Of each query: a kernel writes whole registers.
inline constexpr std::int64_t kRoomPerQuery = kMostTileRows + kGroupRows;

// What a tile kernel reads of thresholds and what it writes: 272 KiB, of which it touches what is
// found.
struct TileRoom {
  std::array<float, kTileQueries> level;
  std::array<float, kTileQueries> per_loss;
  std::array<float, kTileQueries> per_other;
  std::array<std::int32_t, kMostTileRows> column_bias;
  std::array<std::int32_t, kTileQueries> column_level;
  std::array<std::uint32_t, kTileQueries * kRoomPerQuery> rows;
  std::array<std::int32_t, kTileQueries * kRoomPerQuery> sums;
  TileJob job;
};

// What a kernel reads that keeps the nearest itself.
struct NearestRoom {
  std::array<std::int32_t, kTileQueries> query_level;
  std::array<std::int32_t, kTileQueries> query_odd;
  std::array<std::int32_t, kMostTileRows> row_term;
  NearestTileJob job;
};

// As TileRoom, 141 KiB.
struct Bf16TileRoom {
  std::array<float, kTileQueries> level;
  std::array<float, kTileQueries> per_term;
  std::array<float, kMostTileRows> column_bias;
  std::array<float, kMostTileRows> per_column;
  std::array<float, kTileQueries> column_term;
  std::array<float, kTileQueries> column_level;
  std::array<std::uint32_t, kTileQueries * kRoomPerQuery> rows;
  Bf16TileJob job;
};

}  // namespace nearfield
