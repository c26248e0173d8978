// Products of queries and rows in low precision: found = factor * product + of the query + of the
// row. With squared norms and a factor of -2 that is the squared euclidean distance.
#include "distance/gpu/product_adds.h"
#include "distance/gpu/product_tile.h"

namespace nearfield::device {
namespace {

struct ToMatrix {
  NEARFIELD_GLOBAL const Written* query_adds;
  NEARFIELD_GLOBAL const Written* row_adds;
  Written factor;
  u32 row_count;
  NEARFIELD_GLOBAL Written* found;

  NEARFIELD_INLINE void operator()(u32 query, u32 row, Written sum) const {
    found[static_cast<u64>(query) * row_count + row] =
        combined(factor, sum, query_adds[query], row_adds[row]);
  }
};

}  // namespace
}  // namespace nearfield::device

// Of as many pieces each, at least one.
NEARFIELD_KERNEL product(NEARFIELD_GLOBAL const uint4* queries, nearfield::u32 query_count,
                         NEARFIELD_GLOBAL const nearfield::device::Written* query_adds,
                         NEARFIELD_GLOBAL const uint4* rows, nearfield::u32 row_count,
                         NEARFIELD_GLOBAL const nearfield::device::Written* row_adds,
                         nearfield::u32 pieces, nearfield::device::Written factor,
                         NEARFIELD_GLOBAL nearfield::device::Written* found) {
  NEARFIELD_BLOCK uint4 memory[nearfield::device::kMemoryChunks];
  const nearfield::u32 stride = pieces * nearfield::device::kPanelChunks;
  const nearfield::device::Vectors of_queries = {queries, stride, 0, query_count};
  const nearfield::device::Vectors of_rows = {rows, stride, 0, row_count};
  nearfield::device::make_products<nearfield::device::ToMatrix>(
      of_queries, of_rows,
      {of_queries.tile(nearfield::device::block_y()), of_rows.tile(nearfield::device::block_x())},
      pieces, memory, nearfield::device::ToMatrix{query_adds, row_adds, factor, row_count, found});
}
