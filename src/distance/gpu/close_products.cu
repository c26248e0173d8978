// Of the products of product_tile.h, those that may be small enough.
#include "distance/gpu/pair_list.h"
#include "distance/gpu/product_terms.h"

namespace nearfield::device {

// Of halves, {reach, slope} of a query; of bytes, {add, limit}.
struct ToList {
  NEARFIELD_GLOBAL const Terms* query_terms;  // of the block
  u32 first_query;
  NEARFIELD_GLOBAL const RowTerms* row_terms;  // of all
  u32 first_row;
  Written factor;
  PairList list;
  NEARFIELD_GLOBAL double* keys;

  NEARFIELD_INLINE void operator()(u32 query, u32 row, Written sum) const {
    const Terms of_query = query_terms[query - first_query];
    offer(query - first_query, row - first_row, of_query, row_terms[row], sum);
  }

  // Unless it is proven too far: what is no number proves nothing.
  NEARFIELD_INLINE void offer(u32 query, u32 row, const Terms& of_query, const Terms& of_row,
                              float sum) const {
    const float found = factor * sum + of_row.first;
    if (!(found > of_query.first + of_query.second * of_row.second)) list.add(query, row);
  }

  // Exact: the key itself.
  template <class Integer>
  NEARFIELD_INLINE void offer(u32 query, u32 row, const Terms& of_query, Integer of_row,
                              Integer sum) const {
    const Integer found = combined(factor, sum, of_query.first, of_row);
    if (found > of_query.second) return;
    const u32 at = list.add(query, row);
    if (at < list.most) keys[at] = found;
  }
};

}  // namespace nearfield::device

// Queries and rows from `first` to before `end`. Of as many pieces each, at least one.
NEARFIELD_KERNEL close_products(
    NEARFIELD_GLOBAL const uint4* queries, nearfield::u32 first_query, nearfield::u32 query_end,
    NEARFIELD_GLOBAL const nearfield::device::Terms* query_terms,
    NEARFIELD_GLOBAL const uint4* rows, nearfield::u32 first_row, nearfield::u32 row_end,
    NEARFIELD_GLOBAL const nearfield::device::RowTerms* row_terms, nearfield::u32 pieces,
    nearfield::device::Written factor, NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 most,
    NEARFIELD_GLOBAL nearfield::u64* places, NEARFIELD_GLOBAL double* keys) {
  NEARFIELD_BLOCK uint4 memory[nearfield::device::kMemoryChunks];
  const nearfield::u32 stride = pieces * nearfield::device::kPanelChunks;
  const nearfield::device::Vectors of_queries = {queries, stride, first_query, query_end};
  const nearfield::device::Vectors of_rows = {rows, stride, first_row, row_end};
  nearfield::device::make_products<nearfield::device::ToList>(
      of_queries, of_rows, nearfield::device::queries_first(of_queries, of_rows), pieces, memory,
      nearfield::device::ToList{
          query_terms, first_query, row_terms, first_row, factor, {count, most, places}, keys});
}
