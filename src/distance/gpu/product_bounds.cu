// Of the products of product_tile.h, float32 that the keys are not above, in the units of the
// halves: of squared distances and of products, times the square of their scale
// (docs/exactness.md#how-halves-decide-on-a-device).
#include "distance/gpu/key_bound.h"
#include "distance/gpu/product_terms.h"

namespace nearfield::device {

struct ToBounds {
  NEARFIELD_GLOBAL const Terms* query_terms;  // of the block
  u32 first_query;
  NEARFIELD_GLOBAL const RowTerms* row_terms;  // of all
  u32 first_row;
  u32 row_count;
  Written factor;
  float widen;  // what squares of a row are multiplied with; 0: keys are products
  NEARFIELD_GLOBAL float* bounds;

  NEARFIELD_INLINE void operator()(u32 query, u32 row, Written sum) const {
    const u64 at = static_cast<u64>(query - first_query) * row_count + (row - first_row);
    bounds[at] = bound(query_terms[query - first_query], row_terms[row], sum);
  }

  // Distances: {squares, loss} of a query. What round.cu took off the squares of a row, the square
  // of its loss, is added again; NaN, which is not selected, of a row that proves nothing.
  // Products: {0, slope} of a query.
  NEARFIELD_INLINE float bound(const Terms& of_query, const Terms& of_row, float sum) const {
    if (widen == 0) return above(factor * sum + of_query.second * of_row.second);
    const float off = of_row.second * of_row.second;
    const float squares = (of_row.first + 1.00001f * off) * widen;
    const float apart = factor * sum + (squares + of_query.first);
    const float root = sqrt(apart < 0 ? 0.0f : apart);
    const float most = above(root) + of_query.second + of_row.second;
    return above(above(above(most) * above(most)));
  }

  // {add, any} of a query. The key itself, but for what float32 loses.
  template <class Integer>
  NEARFIELD_INLINE float bound(const Terms& of_query, Integer of_row, Integer sum) const {
    return above(static_cast<float>(combined(factor, sum, of_query.first, of_row)));
  }
};

}  // namespace nearfield::device

// Queries and rows from `first` to before `end`; bounds: of them alone.
NEARFIELD_KERNEL product_bounds(NEARFIELD_GLOBAL const uint4* queries, nearfield::u32 first_query,
                                nearfield::u32 query_end,
                                NEARFIELD_GLOBAL const nearfield::device::Terms* query_terms,
                                NEARFIELD_GLOBAL const uint4* rows, nearfield::u32 first_row,
                                nearfield::u32 row_end,
                                NEARFIELD_GLOBAL const nearfield::device::RowTerms* row_terms,
                                nearfield::u32 pieces, nearfield::device::Written factor,
                                float widen, NEARFIELD_GLOBAL float* bounds) {
  NEARFIELD_BLOCK uint4 memory[nearfield::device::kMemoryChunks];
  const nearfield::u32 stride = pieces * nearfield::device::kPanelChunks;
  const nearfield::device::Vectors of_queries = {queries, stride, first_query, query_end};
  const nearfield::device::Vectors of_rows = {rows, stride, first_row, row_end};
  nearfield::device::make_products<nearfield::device::ToBounds>(
      of_queries, of_rows, nearfield::device::queries_first(of_queries, of_rows), pieces, memory,
      nearfield::device::ToBounds{query_terms, first_query, row_terms, first_row,
                                  row_end - first_row, factor, widen, bounds});
}
