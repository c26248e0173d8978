// The end of products that a library has made: what product.cu does with those of its own.
#include "distance/gpu/product_adds.h"

namespace nearfield::device {
namespace {

template <class T>
NEARFIELD_INLINE void end_products(NEARFIELD_GLOBAL const T* query_adds, u32 query_count,
                                   NEARFIELD_GLOBAL const T* row_adds, u32 row_count, T factor,
                                   NEARFIELD_GLOBAL T* found) {
  const u64 at = static_cast<u64>(block_x()) * kThreads + thread();
  if (at >= static_cast<u64>(query_count) * row_count) return;
  // Not at % row_count: clang makes of both what SPIR-V has no instruction for.
  const u64 query = at / row_count;
  found[at] = combined(factor, found[at], query_adds[query], row_adds[at - query * row_count]);
}

}  // namespace
}  // namespace nearfield::device

NEARFIELD_KERNEL end_float_products(NEARFIELD_GLOBAL const float* query_adds,
                                    nearfield::u32 query_count,
                                    NEARFIELD_GLOBAL const float* row_adds,
                                    nearfield::u32 row_count, float factor,
                                    NEARFIELD_GLOBAL float* found) {
  nearfield::device::end_products<float>(query_adds, query_count, row_adds, row_count, factor,
                                         found);
}

NEARFIELD_KERNEL end_byte_products(NEARFIELD_GLOBAL const nearfield::i32* query_adds,
                                   nearfield::u32 query_count,
                                   NEARFIELD_GLOBAL const nearfield::i32* row_adds,
                                   nearfield::u32 row_count, nearfield::i32 factor,
                                   NEARFIELD_GLOBAL nearfield::i32* found) {
  nearfield::device::end_products<nearfield::i32>(query_adds, query_count, row_adds, row_count,
                                                  factor, found);
}
