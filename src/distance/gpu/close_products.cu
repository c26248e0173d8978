// Of the products of product_tile.h, those that may be small enough.
#include "distance/gpu/pair_list.h"
#include "distance/gpu/product_terms.h"

namespace nearfield::device {

// Of rows that were gathered, those that queries have met: by the numbers they have in the list
// they were gathered from.
struct MetList {
  NEARFIELD_GLOBAL const u64* gathered;  // the row below
  NEARFIELD_GLOBAL const u32* marks;     // a bit for each row of each query of the block
  u32 words;                             // of a query
  PairList list;
  u32 most;  // as of the list

  // Its place, as of a list; not there of a query that has not met the row.
  NEARFIELD_INLINE u32 add(u32 query, u32 at) const {
    const u32 row = static_cast<u32>(gathered[at]);
    const u32 mark = marks[static_cast<u64>(query) * words + row / 32];
    return (mark >> row % 32 & 1) != 0 ? list.add(query, row) : most;
  }
};

// Of halves, {reach, slope} of a query; of bytes, {add, limit}.
template <class List>
struct ToList {
  NEARFIELD_GLOBAL const Terms* query_terms;  // of the block
  u32 first_query;
  NEARFIELD_GLOBAL const RowTerms* row_terms;  // of all
  u32 first_row;
  Written factor;
  List list;
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
  using To = nearfield::device::ToList<nearfield::device::PairList>;
  nearfield::device::make_products<To>(
      of_queries, of_rows, nearfield::device::queries_first(of_queries, of_rows), pieces, memory,
      To{query_terms, first_query, row_terms, first_row, factor, {count, most, places}, keys});
}

// Of all gathered rows, from 0 to before `row_end`, pairs of a query and a row it has met.
NEARFIELD_KERNEL close_met_products(NEARFIELD_GLOBAL const uint4* queries,
                                    nearfield::u32 first_query, nearfield::u32 query_end,
                                    NEARFIELD_GLOBAL const nearfield::device::Terms* query_terms,
                                    NEARFIELD_GLOBAL const uint4* rows, nearfield::u32 row_end,
                                    NEARFIELD_GLOBAL const nearfield::device::RowTerms* row_terms,
                                    nearfield::u32 pieces, nearfield::device::Written factor,
                                    NEARFIELD_GLOBAL const nearfield::u64* gathered,
                                    NEARFIELD_GLOBAL const nearfield::u32* marks,
                                    nearfield::u32 words, NEARFIELD_GLOBAL nearfield::u32* count,
                                    nearfield::u32 most, NEARFIELD_GLOBAL nearfield::u64* places,
                                    NEARFIELD_GLOBAL double* keys) {
  NEARFIELD_BLOCK uint4 memory[nearfield::device::kMemoryChunks];
  const nearfield::u32 stride = pieces * nearfield::device::kPanelChunks;
  const nearfield::device::Vectors of_queries = {queries, stride, first_query, query_end};
  const nearfield::device::Vectors of_rows = {rows, stride, 0, row_end};
  using To = nearfield::device::ToList<nearfield::device::MetList>;
  nearfield::device::make_products<To>(
      of_queries, of_rows, nearfield::device::queries_first(of_queries, of_rows), pieces, memory,
      To{query_terms,
         first_query,
         row_terms,
         0,
         factor,
         {gathered, marks, words, {count, most, places}, most},
         keys});
}
