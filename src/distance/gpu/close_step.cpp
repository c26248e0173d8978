#include "distance/gpu/close_step.hpp"

#include "core/checked.hpp"

namespace nearfield {
namespace {

// That the vectors are in.
std::int64_t tiles_of(const CloseVectors& vectors) {
  return divide_up(vectors.end, kProductTile) - vectors.first / kProductTile;
}

}  // namespace

void close_products(gpu::Queue& queue, ProductKind kind, std::int64_t pieces,
                    const gpu::Argument& factor, const CloseVectors& queries,
                    const CloseVectors& rows, const PairList& list) {
  queue.fill(*list.count, 0);
  queue.run({kind == ProductKind::i8 ? "close_i8" : "close_f16", "close_products"},
            {tiles_of(rows), tiles_of(queries)},
            {queries.values, static_cast<std::uint32_t>(queries.first),
             static_cast<std::uint32_t>(queries.end), queries.terms, rows.values,
             static_cast<std::uint32_t>(rows.first), static_cast<std::uint32_t>(rows.end),
             rows.terms, static_cast<std::uint32_t>(pieces), factor, *list.count,
             static_cast<std::uint32_t>(list.most), *list.places, *list.keys});
}

}  // namespace nearfield
