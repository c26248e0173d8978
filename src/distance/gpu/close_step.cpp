#include "distance/gpu/close_step.hpp"

#include <string_view>

#include "core/checked.hpp"

namespace nearfield {
namespace {

std::int64_t tiles_of(const CloseVectors& vectors) {
  return product_tiles(vectors.first, vectors.end);
}
std::uint32_t first_of(const CloseVectors& vectors) {
  return static_cast<std::uint32_t>(vectors.first);
}
std::uint32_t end_of(const CloseVectors& vectors) {
  return static_cast<std::uint32_t>(vectors.end);
}

std::string_view close_module(ProductKind kind) {
  return kind == ProductKind::i8 ? "close_i8" : "close_f16";
}

}  // namespace

std::int64_t product_tiles(std::int64_t first, std::int64_t end) {
  return divide_up(end, kProductTile) - first / kProductTile;
}

void close_products(gpu::Queue& queue, ProductKind kind, std::int64_t pieces,
                    const gpu::Argument& factor, const CloseVectors& queries,
                    const CloseVectors& rows, const PairList& list) {
  queue.fill(*list.count, 0);
  queue.run({close_module(kind), "close_products"}, {tiles_of(queries), tiles_of(rows)},
            {queries.values, first_of(queries), end_of(queries), queries.terms, rows.values,
             first_of(rows), end_of(rows), rows.terms, static_cast<std::uint32_t>(pieces), factor,
             *list.count, static_cast<std::uint32_t>(list.most), *list.places, *list.keys});
}

void close_met_products(gpu::Queue& queue, ProductKind kind, std::int64_t pieces,
                        const gpu::Argument& factor, const CloseVectors& queries,
                        const CloseVectors& rows, const MetRows& met, const PairList& list) {
  queue.fill(*list.count, 0);
  queue.run({close_module(kind), "close_met_products"}, {tiles_of(queries), tiles_of(rows)},
            {queries.values, first_of(queries), end_of(queries), queries.terms, rows.values,
             end_of(rows), rows.terms, static_cast<std::uint32_t>(pieces), factor, met.gathered,
             met.marks, static_cast<std::uint32_t>(met.words), *list.count,
             static_cast<std::uint32_t>(list.most), *list.places, *list.keys});
}

void two_products(gpu::Queue& queue, std::int64_t pieces, const gpu::Argument& factor,
                  const CloseVectors& queries, const CloseVectors& rows, std::int64_t parts,
                  const PairList& list) {
  queue.fill(*list.count, 0);
  queue.run({"two_i8", "two_products"}, {tiles_of(queries), parts},
            {queries.values, first_of(queries), end_of(queries), queries.terms, rows.values,
             first_of(rows), end_of(rows), rows.terms, static_cast<std::uint32_t>(pieces), factor,
             *list.count, static_cast<std::uint32_t>(list.most), *list.places, *list.keys});
}

void product_bounds(gpu::Queue& queue, ProductKind kind, std::int64_t pieces,
                    const gpu::Argument& factor, float widen, const CloseVectors& queries,
                    const CloseVectors& rows, const gpu::Buffer& found) {
  queue.run({kind == ProductKind::i8 ? "bounds_i8" : "bounds_f16", "product_bounds"},
            {tiles_of(queries), tiles_of(rows)},
            {queries.values, first_of(queries), end_of(queries), queries.terms, rows.values,
             first_of(rows), end_of(rows), rows.terms, static_cast<std::uint32_t>(pieces), factor,
             widen, found});
}

}  // namespace nearfield
