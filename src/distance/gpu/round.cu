// Vectors rounded to halves for products, and what that loses of each: what a filter needs to prove
// that a row is too far. A block rounds a row, of padding too. The proof is in
// docs/exactness.md#how-halves-decide-on-a-device.
#include "distance/gpu/stored_value.h"

namespace nearfield::device {

// What is made of a vector; as in distance/gpu/round_step.hpp.
enum RoundedForm : u32 { kPlain, kRowOfDistances, kRowOfProducts };

// Plain: the squares of the vector as it was rounded, and how far that is at most from the vector;
// infinity where anything may be true of it. Of a row: what close_products.cu adds and multiplies.
struct Terms {
  float first;
  float second;
};

namespace {

// As filter/rounded has it on CPUs: lengths of 1e-15 to 1e15.
NEARFIELD_INLINE bool is_usual(double squares, bool unit) {
  return (squares == 0 && !unit) || (squares > 1e-30 && squares < 1e30);
}

NEARFIELD_INLINE double sum_of_block(double of_this, NEARFIELD_SHARED double* room) {
  sync();  // the sum before has been read
  room[thread()] = of_this;
  for (u32 apart = kThreads / 2; apart > 0; apart /= 2) {
    sync();
    if (thread() < apart) room[thread()] = room[thread()] + room[thread() + apart];
  }
  sync();
  return room[0];
}

// At least x: more than half a unit of a float32, and than its smallest number.
NEARFIELD_INLINE float rounded_up(double x) { return static_cast<float>(x * 1.0000005 + 1e-37); }

NEARFIELD_INLINE double squares_of(const Rows& from, u32 row, NEARFIELD_SHARED double* room) {
  double squares = 0;
  if (row < from.count) {
    for (u32 i = thread(); i < from.width; i += kThreads) {
      const double x = stored_value(from.bytes + row * from.stride, i, from.stored);
      squares += x * x;
    }
  }
  return sum_of_block(squares, room);
}

// epsilon: what products are off, of both squares. Of products a row has a loss of least of its
// length.
NEARFIELD_INLINE Terms terms_of(u32 form, double squares, double lost, double epsilon,
                                double least) {
  // The factor of a vector of unit length is off by less than 2^-44 of itself.
  const double length = sqrt(squares);
  const float loss = rounded_up(lost + 0x1p-44 * length);
  switch (form) {
    case kRowOfDistances: {
      const double off = static_cast<double>(loss) * static_cast<double>(loss);
      return {static_cast<float>(squares - epsilon * squares - 1.000002 * off), loss};
    }
    case kRowOfProducts: {
      const float of_length = rounded_up(least * (length + static_cast<double>(loss)));
      return {0.0f, loss > of_length ? loss : of_length};
    }
    default:
      return {static_cast<float>(squares), loss};
  }
}

// Values times the scale, and if they are to be of unit length, over their length.
NEARFIELD_INLINE void round_row(const Rows& from, double scale, bool unit, u32 form, double epsilon,
                                double least, NEARFIELD_GLOBAL u32* to, u32 to_words,
                                NEARFIELD_GLOBAL Terms* terms, NEARFIELD_SHARED double* room) {
  const u32 row = block_x();
  const double squares = squares_of(from, row, room);
  const bool usual = is_usual(squares, unit);
  const u32 width = row < from.count && usual ? from.width : 0;
  const double factor = unit ? scale / sqrt(squares) : scale;
  double halves_squares = 0;
  double lost_squares = 0;
  for (u32 word = thread(); word < to_words; word += kThreads) {
    u32 halves = 0;
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const u32 at = 2 * word + i;
      if (at < width) {
        const double value = stored_value(from.bytes + row * from.stride, at, from.stored) * factor;
        const f16 rounded = half_of(static_cast<float>(value));
        const double kept = float_of(rounded);
        halves_squares += kept * kept;
        lost_squares += (value - kept) * (value - kept);
        halves |= bits_of(rounded) << 16 * i;
      }
    }
    to[static_cast<u64>(row) * to_words + word] = halves;
  }
  halves_squares = sum_of_block(halves_squares, room);
  lost_squares = sum_of_block(lost_squares, room);
  if (thread() != 0 || row >= from.count) return;
  if (usual) {
    terms[row] = terms_of(form, halves_squares, sqrt(lost_squares), epsilon, least);
  } else {
    const float infinity = float_of(0x7F800000u);
    terms[row] = {form == kRowOfDistances ? -infinity : 0.0f, infinity};
  }
}

// Of rows of a usual length, the largest magnitude, as a float that is not below it.
NEARFIELD_INLINE void find_largest(const Rows& from, NEARFIELD_GLOBAL u32* largest,
                                   NEARFIELD_SHARED double* room) {
  float most = 0;
  for (u32 row = block_x(); row < from.count; row += blocks_x()) {
    if (!is_usual(squares_of(from, row, room), false)) continue;
    for (u32 i = thread(); i < from.width; i += kThreads) {
      const double x = stored_value(from.bytes + row * from.stride, i, from.stored);
      const float magnitude = rounded_up(x < 0 ? -x : x);
      if (magnitude > most) most = magnitude;
    }
  }
  max_in_global(largest, bits_of(most));  // floats that are not negative are ordered as integers
}

}  // namespace
}  // namespace nearfield::device

NEARFIELD_KERNEL round_to_halves(NEARFIELD_GLOBAL const nearfield::u8* from,
                                 nearfield::u64 from_stride, nearfield::u32 count,
                                 nearfield::u32 width, nearfield::u32 stored, double scale,
                                 nearfield::u32 unit, nearfield::u32 form, double epsilon,
                                 double least, NEARFIELD_GLOBAL nearfield::u32* to,
                                 nearfield::u32 to_words,
                                 NEARFIELD_GLOBAL nearfield::device::Terms* terms) {
  NEARFIELD_BLOCK double room[nearfield::device::kThreads];
  nearfield::device::round_row({from, from_stride, count, width, stored}, scale, unit != 0, form,
                               epsilon, least, to, to_words, terms, room);
}

NEARFIELD_KERNEL largest_value(NEARFIELD_GLOBAL const nearfield::u8* from,
                               nearfield::u64 from_stride, nearfield::u32 count,
                               nearfield::u32 width, nearfield::u32 stored,
                               NEARFIELD_GLOBAL nearfield::u32* largest) {
  NEARFIELD_BLOCK double room[nearfield::device::kThreads];
  nearfield::device::find_largest({from, from_stride, count, width, stored}, largest, room);
}
