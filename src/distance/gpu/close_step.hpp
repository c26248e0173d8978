// Products that may be small enough: what close_products.cu, two_products.cu and product_bounds.cu
// are given.
#pragma once

#include <cstdint>

#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"
#include "distance/product_scale.hpp"

namespace nearfield {

// As in product_tile.h: vectors of a tile, and bytes of each that are read at a time.
inline constexpr std::int64_t kProductTile = 128;
inline constexpr std::int64_t kProductPieceBytes = 64;

// Of some vectors, the tiles that they are in.
std::int64_t product_tiles(std::int64_t first, std::int64_t end);

// Vectors [first, end), of rows at most Grid::kMostY tiles, of halves or bytes that are padded to
// whole tiles and pieces, and what the kernel compares with: of queries those of the block alone,
// of rows those of all.
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

// Who has met whom: rows by their places in a list, and of each query of the block a bit for each
// number a row may have in it.
struct MetRows {
  const gpu::Buffer& gathered;  // as PairList::places
  const gpu::Buffer& marks;
  std::int64_t words;  // of 32 bits, of a query
};

// Of all rows, which were gathered as that list has them: pairs of a query and a row it has met,
// by its number in the list.
void close_met_products(gpu::Queue& queue, ProductKind kind, std::int64_t pieces,
                        const gpu::Argument& factor, const CloseVectors& queries,
                        const CloseVectors& rows, const MetRows& met, const PairList& list);

// Of bytes, the first two of each query up to its limit, of each of `parts` of the rows.
void two_products(gpu::Queue& queue, std::int64_t pieces, const gpu::Argument& factor,
                  const CloseVectors& queries, const CloseVectors& rows, std::int64_t parts,
                  const PairList& list);

// found: of these queries and rows, float32 that the keys are not above; NaN where nothing is
// proven. Terms of a query of bytes: as of close_products. Of halves: widen is what the squares of
// rows are multiplied with, and terms {squares, loss}; or it is 0, keys are products, and terms {0,
// slope}.
void product_bounds(gpu::Queue& queue, ProductKind kind, std::int64_t pieces,
                    const gpu::Argument& factor, float widen, const CloseVectors& queries,
                    const CloseVectors& rows, const gpu::Buffer& found);

}  // namespace nearfield
