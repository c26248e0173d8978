#include "filter/rounded/cpu/tile_kernels.hpp"

namespace nearfield {

const TileKernel& tile_kernel(Isa isa) {
  switch (isa) {
#if NEARFIELD_X86
    case Isa::amx:
      return kAmxTiles;
    case Isa::avx512icl:
    case Isa::avx512vnni:
      return kVnniTiles;
    case Isa::avx512:
      return kAvx512Tiles;
    case Isa::avx2:
      return kAvx2Tiles;
#endif
    default:
      return kPortableTiles;
  }
}

}  // namespace nearfield
