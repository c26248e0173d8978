// Sums have several parts, so that an addition need not wait for the one before. Of plain loops the
// compiler makes the vectors of each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filter/rounded/cpu/rounding_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "device/targets.h"
#include "filter/rounded/rounding_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

double sum_of_squares(const double* values, std::int64_t count) {
  constexpr std::int64_t kParts = 16;
  double sums[kParts] = {};
  std::int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (std::int64_t part = 0; part < kParts; ++part) {
      sums[part] += values[i + part] * values[i + part];
    }
  }
  for (; i < count; ++i) sums[i % kParts] += values[i] * values[i];
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

double product(const float* x, const float* y, std::int64_t count) {
  constexpr std::int64_t kParts = 32;
  float sums[kParts] = {};
  std::int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (std::int64_t part = 0; part < kParts; ++part) sums[part] += x[i + part] * y[i + part];
  }
  for (; i < count; ++i) sums[i % kParts] += x[i] * y[i];
  double total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

void scale(const double* values, double factor, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(values[i] * factor);
}

void centre(const double* values, double factor, const float* centre, std::int64_t count,
            float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(values[i] * factor - static_cast<double>(centre[i]));
  }
}

using Tag = hn::ScalableTag<float>;
using Values = hn::Vec<Tag>;

// Sums of some vectors: what these add up to, floats hold exactly (32 * 16 * 127^2 < 2^24) or
// nearly.
constexpr std::int64_t kVectorsAtOnce = 32;

struct Sums {
  Values lost;
  Values sum;
  Values squares;

  HWY_INLINE void add_to(RoundedValues& total) const {
    const Tag d;
    total.lost += hn::GetLane(hn::SumOfLanes(d, lost));
    total.sum += static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(d, sum)));
    total.squares += static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(d, squares)));
  }
};

// Adding and taking off a number makes a float round to an integer.
HWY_INLINE void round_vector(Values values, Values step, Values inverse, std::int8_t* bytes,
                             Sums& sums) {
  const Tag d;
  const Values most = hn::Set(d, kLargestByte);
  const Values kept = hn::Min(hn::Max(hn::Mul(values, inverse), hn::Neg(most)), most);
  const Values rounder = hn::Set(d, 0x1.8p23F);
  const Values whole = hn::Sub(hn::Add(kept, rounder), rounder);
  const Values error = hn::Sub(values, hn::Mul(whole, step));
  sums.lost = hn::Add(sums.lost, hn::Mul(error, error));
  sums.sum = hn::Add(sums.sum, whole);
  sums.squares = hn::Add(sums.squares, hn::Mul(whole, whole));
  const hn::Rebind<std::int32_t, Tag> integers;
  const hn::Rebind<std::int8_t, Tag> small;
  hn::StoreU(hn::DemoteTo(small, hn::ConvertTo(integers, whole)), small, bytes);
}

RoundedValues round(const float* values, float step, std::int64_t count, std::int8_t* bytes) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Values steps = hn::Set(d, step);
  const Values inverse = hn::Set(d, 1 / step);
  const Values zero = hn::Zero(d);
  RoundedValues total;
  std::int64_t i = 0;
  while (i + lanes <= count) {
    const std::int64_t most = i + kVectorsAtOnce * lanes;
    const std::int64_t end = most < count ? most : count;
    Sums sums{zero, zero, zero};
    for (; i + lanes <= end; i += lanes) {
      round_vector(hn::LoadU(d, values + i), steps, inverse, bytes + i, sums);
    }
    sums.add_to(total);
  }
  if (i < count) {
    float rest[HWY_MAX_BYTES / sizeof(float)] = {};
    std::int8_t rounded[HWY_MAX_BYTES / sizeof(float)];
    const auto behind = static_cast<std::size_t>(count - i);
    __builtin_memcpy(rest, values + i, behind * sizeof(float));
    Sums sums{zero, zero, zero};
    round_vector(hn::LoadU(d, rest), steps, inverse, rounded, sums);
    sums.add_to(total);
    __builtin_memcpy(bytes + i, rounded, behind);
  }
  // Sums of 34 floats lose at most 2^-18 of themselves: this is at least what is lost.
  total.lost *= 1 + 0x1p-17;
  return total;
}

// The upper half of a float's bits is a bf16; the carry of what is added rounds it.
RoundedToBf16 round_to_bf16(const float* values, std::int64_t count, std::uint16_t* out) {
  constexpr std::int64_t kParts = 16;
  double lost[kParts] = {};
  double squares[kParts] = {};
  const auto round = [&](std::int64_t i, std::int64_t part) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, values + i, sizeof(bits));
    bits += 0x7fff + (bits >> 16 & 1);
    out[i] = static_cast<std::uint16_t>(bits >> 16);
    bits &= 0xffff0000;
    float kept;
    __builtin_memcpy(&kept, &bits, sizeof(kept));
    const double error = static_cast<double>(values[i]) - kept;
    lost[part] += error * error;
    squares[part] += static_cast<double>(kept) * kept;
  };
  std::int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (std::int64_t part = 0; part < kParts; ++part) round(i + part, part);
  }
  for (; i < count; ++i) round(i, i % kParts);
  RoundedToBf16 total;
  for (std::int64_t part = 0; part < kParts; ++part) {
    total.lost += lost[part];
    total.squares += squares[part];
  }
  return total;
}

// Butterflies of values that lie kHalf apart. The first ones are written for their distance, so
// that they become shuffles instead of loops of one or two.
template <std::int64_t kHalf>
inline void near_butterflies(std::int64_t count, float* values) {
  for (std::int64_t block = 0; block < count; block += 16) {
    float out[16];
    for (std::int64_t i = 0; i < 16; ++i) {
      const float own = values[block + i];
      const float other = values[block + (i ^ kHalf)];
      out[i] = (i & kHalf) == 0 ? own + other : other - own;
    }
    for (std::int64_t i = 0; i < 16; ++i) values[block + i] = out[i];
  }
}

inline void butterflies(std::int64_t half, std::int64_t count, float* values) {
  for (std::int64_t block = 0; block < count; block += 2 * half) {
    float* const left = values + block;
    float* const right = left + half;
    for (std::int64_t i = 0; i < half; ++i) {
      const float sum = left[i] + right[i];
      const float difference = left[i] - right[i];
      left[i] = sum;
      right[i] = difference;
    }
  }
}

void transform(const float* signs, std::int64_t count, float* values) {
  const auto root = static_cast<float>(1 / std::sqrt(static_cast<double>(count)));
  for (std::int64_t i = 0; i < count; ++i) values[i] *= signs[i] * root;
  std::int64_t half = 1;
  if (count >= 16) {
    near_butterflies<1>(count, values);
    near_butterflies<2>(count, values);
    near_butterflies<4>(count, values);
    near_butterflies<8>(count, values);
    half = 16;
  }
  for (; half < count; half *= 2) butterflies(half, count, values);
}

constexpr RoundingKernel kRounding{sum_of_squares, product,       scale,    centre,
                                   round,          round_to_bf16, transform};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const RoundingKernel& rounding_kernel(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kRounding;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kRounding);
}

}  // namespace nearfield
#endif
