// What a product is held against (bench/reproduce gemm-sift): distances without any reuse, as a
// thesis has them for its yardstick, and a table of halves. No search runs these.
#include "distance/gpu/stored_float.h"

namespace nearfield::device {
namespace {

// A block is a warp and has one pair: every vector is read again for each of the others.
static_assert(kWarps == 1, "one warp a pair");

NEARFIELD_INLINE float naive_distance(NEARFIELD_GLOBAL const u8* query,
                                      NEARFIELD_GLOBAL const u8* row, u32 width, u32 stored) {
  float sum = 0;
  for (u32 i = lane(); i < width; i += kWarp) {
    const float difference = stored_float(query, i, stored) - stored_float(row, i, stored);
    sum = sum + difference * difference;
  }
#pragma unroll
  for (u32 mask = kWarp / 2; mask > 0; mask /= 2) {
    sum = sum + float_of(shuffle_xor(bits_of(sum), mask));
  }
  return sum;
}

}  // namespace
}  // namespace nearfield::device

// Squared euclidean distances, float32: row block_x of query block_y. Vectors are of one type and
// stride.
NEARFIELD_KERNEL naive_distances(NEARFIELD_GLOBAL const nearfield::u8* queries,
                                 nearfield::u64 first_query,
                                 NEARFIELD_GLOBAL const nearfield::u8* rows,
                                 nearfield::u64 first_row, nearfield::u64 stride,
                                 nearfield::u32 width, nearfield::u32 stored,
                                 NEARFIELD_GLOBAL float* found) {
  const nearfield::u32 query = nearfield::device::block_y();
  const nearfield::u32 row = nearfield::device::block_x();
  const float distance = nearfield::device::naive_distance(
      queries + (first_query + query) * stride, rows + (first_row + row) * stride, width, stored);
  if (nearfield::device::lane() != 0) return;
  found[static_cast<nearfield::u64>(query) * nearfield::device::blocks_x() + row] = distance;
}

// Each value as the half that is nearest to it after it was multiplied by `scale`, a power of two,
// and divided by it again: a table of halves, whose values no half is too small or too large for.
NEARFIELD_KERNEL round_to_halves(NEARFIELD_GLOBAL float* values, nearfield::u64 count,
                                 float scale) {
  const nearfield::u64 at =
      static_cast<nearfield::u64>(nearfield::device::block_x()) * nearfield::device::kThreads +
      nearfield::device::thread();
  if (at >= count) return;
  values[at] = nearfield::device::float_of(nearfield::device::half_of(values[at] * scale)) / scale;
}
