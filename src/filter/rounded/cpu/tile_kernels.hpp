// The kernels, for the table that picks one.
#pragma once

#include "filter/rounded/tile_kernel.hpp"

#if defined(__x86_64__)
#define NEARFIELD_X86 1
#else
#define NEARFIELD_X86 0
#endif

namespace nearfield {

extern const TileKernel kPortableTiles;
#if NEARFIELD_X86
extern const TileKernel kAvx2Tiles;
extern const TileKernel kAvx512Tiles;
extern const TileKernel kVnniTiles;
extern const TileKernel kAmxTiles;
#endif

}  // namespace nearfield
