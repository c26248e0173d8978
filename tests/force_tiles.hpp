// For tests that are about one kind of tiles.
#pragma once

#include <limits>

#include "search/plan.hpp"

namespace nearfield {

enum class TileValues { int8, bf16 };

// Of what values the tiles of floats are, whatever the shape and the rows, until the tuning is set
// anew. Where the CPU has no tiles of bf16 they are of int8.
inline void force_tiles_of(TileValues values) {
  TileTuning& tiles = default_tuning().tiles;
  tiles.least_bf16_values = 0;
  tiles.least_bf16_gain = values == TileValues::bf16 ? 0 : std::numeric_limits<double>::infinity();
}

}  // namespace nearfield
