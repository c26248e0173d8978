// Vectors as the products read them: halves or bytes, padded with zeros to whole tiles, and what is
// added to every product of each. A block converts a row, of padding too.
#include "distance/gpu/stored_float.h"

namespace nearfield::device {

struct Rows {
  NEARFIELD_GLOBAL const u8* bytes;
  u64 stride;  // bytes
  u32 count;
  u32 width;
  u32 stored;
};

// Of all threads of the block, in an order that no warp has a part in. To the first of them.
template <class Number>
NEARFIELD_INLINE Number summed(Number of_this, NEARFIELD_SHARED Number* room) {
  room[thread()] = of_this;
  for (u32 apart = kThreads / 2; apart > 0; apart /= 2) {
    sync();
    if (thread() < apart) room[thread()] = room[thread()] + room[thread() + apart];
  }
  return room[thread()];
}

// Two values a word. The norm is that of the values as they were rounded.
NEARFIELD_INLINE void convert_to_f16(const Rows& from, float scale, float norm_factor,
                                     NEARFIELD_GLOBAL u32* to, u32 to_words,
                                     NEARFIELD_GLOBAL float* adds, NEARFIELD_SHARED float* room) {
  const u32 row = block_x();
  const u32 width = row < from.count ? from.width : 0;
  NEARFIELD_GLOBAL const u8* const values = from.bytes + row * from.stride;
  float norm = 0;
  for (u32 word = thread(); word < to_words; word += kThreads) {
    u32 halves = 0;
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const u32 at = 2 * word + i;
      const f16 rounded =
          half_of(at < width ? stored_float(values, at, from.stored) * scale : 0.0f);
      norm = norm + float_of(rounded) * float_of(rounded);
      halves |= bits_of(rounded) << 16 * i;
    }
    to[static_cast<u64>(row) * to_words + word] = halves;
  }
  norm = summed<float>(norm, room);
  if (thread() == 0 && row < from.count) adds[row] = norm_factor * norm;
}

// What an integer that is added to a product is made of; it may wrap, the product does not.
struct ByteAdds {
  u32 norm_factor;
  u32 sum_factor;
  u32 offset;
};

// Four values a word; those without sign are stored less 128. The norm is that of the values as
// they are, the sum that of the values as they are stored.
NEARFIELD_INLINE void convert_to_i8(const Rows& from, const ByteAdds& factors,
                                    NEARFIELD_GLOBAL u32* to, u32 to_words,
                                    NEARFIELD_GLOBAL u32* adds, NEARFIELD_SHARED u32* room) {
  const u32 row = block_x();
  const u32 width = row < from.count ? from.width : 0;
  const i32 shift = from.stored == kU8 ? 128 : 0;
  NEARFIELD_GLOBAL const u8* const bytes = from.bytes + row * from.stride;
  u32 added = 0;
  for (u32 word = thread(); word < to_words; word += kThreads) {
    u32 stored_bytes = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      const u32 at = 4 * word + i;
      if (at < width) {
        const i32 value = shift != 0 ? bytes[at] : static_cast<i8>(bytes[at]);
        const u32 stored = static_cast<u32>(value - shift);
        added +=
            factors.norm_factor * static_cast<u32>(value * value) + factors.sum_factor * stored;
        stored_bytes |= (stored & 0xff) << 8 * i;
      }
    }
    to[static_cast<u64>(row) * to_words + word] = stored_bytes;
  }
  added = summed<u32>(added, room);
  if (thread() == 0 && row < from.count) adds[row] = added + factors.offset;
}

}  // namespace nearfield::device

NEARFIELD_KERNEL to_f16(NEARFIELD_GLOBAL const nearfield::u8* from, nearfield::u64 from_stride,
                        nearfield::u32 count, nearfield::u32 width, nearfield::u32 stored,
                        float scale, float norm_factor, NEARFIELD_GLOBAL nearfield::u32* to,
                        nearfield::u32 to_words, NEARFIELD_GLOBAL float* adds) {
  NEARFIELD_BLOCK float room[nearfield::device::kThreads];
  nearfield::device::convert_to_f16({from, from_stride, count, width, stored}, scale, norm_factor,
                                    to, to_words, adds, room);
}

NEARFIELD_KERNEL to_i8(NEARFIELD_GLOBAL const nearfield::u8* from, nearfield::u64 from_stride,
                       nearfield::u32 count, nearfield::u32 width, nearfield::u32 stored,
                       nearfield::u32 norm_factor, nearfield::u32 sum_factor, nearfield::u32 offset,
                       NEARFIELD_GLOBAL nearfield::u32* to, nearfield::u32 to_words,
                       NEARFIELD_GLOBAL nearfield::u32* adds) {
  NEARFIELD_BLOCK nearfield::u32 room[nearfield::device::kThreads];
  nearfield::device::convert_to_i8({from, from_stride, count, width, stored},
                                   {norm_factor, sum_factor, offset}, to, to_words, adds, room);
}
