// Products that may be small enough: what close_products.cu is given.
#pragma once

#include <cstdint>

#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"
#include "distance/product_scale.hpp"

namespace nearfield {

// As in product_tile.h: vectors of a tile, and bytes of each that are read at a time.
inline constexpr std::int64_t kProductTile = 128;
inline constexpr std::int64_t kProductPieceBytes = 64;

// Vectors [first, end), of halves or bytes that are padded to whole tiles and pieces, and what the
// kernel compares with: of queries those of the block alone, of rows those of all.
struct CloseVectors {
  const gpu::Buffer& values;
  const gpu::Buffer& terms;
  std::int64_t first;
  std::int64_t end;
};

// kind: f16 or i8; of bytes the keys are written too. Numbers in the list count from the first.
void close_products(gpu::Queue& queue, ProductKind kind, std::int64_t pieces,
                    const gpu::Argument& factor, const CloseVectors& queries,
                    const CloseVectors& rows, const PairList& list);

}  // namespace nearfield
