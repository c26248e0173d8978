#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "code/cpu/code_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "code/code_kernels.hpp"
#include "device/targets.h"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

template <class D>
constexpr std::int64_t kLanesOf = static_cast<std::int64_t>(hn::MaxLanes(D()));

// ---- Products of 16-bit integers

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <std::int64_t kCodewords>
void products(const std::int16_t* vectors, std::int64_t stride, const std::int16_t* codebook,
              std::int64_t pairs, std::int32_t* out) {
  for (std::int64_t v = 0; v < kProductVectors; ++v) {
    std::int32_t* const sums = out + v * kCodewords;
    for (std::int64_t b = 0; b < kCodewords; ++b) sums[b] = 0;
    for (std::int64_t p = 0; p < pairs; ++p) {
      const std::int16_t* const x = vectors + v * stride + 2 * p;
      const std::int16_t* const words = codebook + 2 * p * kCodewords;
      for (std::int64_t b = 0; b < kCodewords; ++b) {
        sums[b] += x[0] * words[2 * b] + x[1] * words[2 * b + 1];
      }
    }
  }
}

#else

template <std::int64_t kCodewords>
using SumTag = hn::CappedTag<std::int32_t, kCodewords>;

template <std::int64_t kCodewords>
void products(const std::int16_t* vectors, std::int64_t stride, const std::int16_t* codebook,
              std::int64_t pairs, std::int32_t* out) {
  const SumTag<kCodewords> d;
  const hn::Repartition<std::int16_t, decltype(d)> halves;
  using Sums = hn::Vec<decltype(d)>;
  constexpr std::int64_t kLanes = kLanesOf<SumTag<kCodewords>>;
  // 4 vectors x 4 registers of sums where there are 32 of them, x 2 where there are 16.
  constexpr std::int64_t kRegisters = smaller(kCodewords / kLanes, HWY_TARGET <= HWY_AVX3 ? 4 : 2);
  for (std::int64_t first = 0; first < kCodewords; first += kRegisters * kLanes) {
    Sums sums[kProductVectors][kRegisters];
    Sums upper[kProductVectors][kRegisters];  // on NEON, products of the upper half; else zeros
    for (std::int64_t v = 0; v < kProductVectors; ++v) {
      for (std::int64_t r = 0; r < kRegisters; ++r) sums[v][r] = upper[v][r] = hn::Zero(d);
    }
    for (std::int64_t p = 0; p < pairs; ++p) {
      const std::int16_t* const words = codebook + 2 * (p * kCodewords + first);
      for (std::int64_t v = 0; v < kProductVectors; ++v) {
        std::int32_t pair;
        __builtin_memcpy(&pair, vectors + v * stride + 2 * p, sizeof(pair));
        const auto x = hn::BitCast(halves, hn::Set(d, pair));
        for (std::int64_t r = 0; r < kRegisters; ++r) {
          const auto w = hn::LoadU(halves, words + 2 * r * kLanes);
          sums[v][r] = hn::ReorderWidenMulAccumulate(d, x, w, sums[v][r], upper[v][r]);
        }
      }
    }
    for (std::int64_t v = 0; v < kProductVectors; ++v) {
      for (std::int64_t r = 0; r < kRegisters; ++r) {
        hn::StoreU(hn::RearrangeToOddPlusEven(sums[v][r], upper[v][r]), d,
                   out + v * kCodewords + first + r * kLanes);
      }
    }
  }
}

#endif

// ---- Unaries

// Adding and taking off a number makes a float round to an integer.
template <class D, class Values>
HWY_INLINE Values round_values(D d, Values values) {
  const Values rounder = hn::Set(d, 0x1.8p23F);
  return hn::Sub(hn::Add(values, rounder), rounder);
}

// values[b] less the smallest of them, as a whole number of at most kTooFar.
template <std::int64_t kCodewords, class D, class Values>
HWY_INLINE void store_above(D d, Values least, const float* values, std::uint16_t* out) {
  const hn::Rebind<std::int32_t, D> integers;
  const hn::Rebind<std::uint16_t, D> small;
  const Values smallest = hn::MinOfLanes(d, least);
  const Values most = hn::Set(d, static_cast<float>(kTooFar));
  for (std::int64_t b = 0; b < kCodewords; b += kLanesOf<D>) {
    const Values value = hn::Min(hn::Sub(hn::LoadU(d, values + b), smallest), most);
    hn::StoreU(hn::DemoteTo(small, hn::ConvertTo(integers, round_values(d, value))), small,
               out + b);
  }
}

// values[b] = norms[b] - scale * products[b]; answers the smallest of each lane.
template <std::int64_t kCodewords, class D>
HWY_INLINE hn::Vec<D> subtract_scaled(D d, const std::int32_t* products, const float* norms,
                                      float scale, float* values) {
  const hn::Rebind<std::int32_t, D> integers;
  auto least = hn::Set(d, 0x1p126F);
  for (std::int64_t b = 0; b < kCodewords; b += kLanesOf<D>) {
    const auto product = hn::ConvertTo(d, hn::LoadU(integers, products + b));
    const auto value = hn::Sub(hn::LoadU(d, norms + b), hn::Mul(product, hn::Set(d, scale)));
    least = hn::Min(least, value);
    hn::StoreU(value, d, values + b);
  }
  return least;
}

template <std::int64_t kCodewords>
void unaries(const std::int32_t* products, const float* norms, float scale, std::uint16_t* out) {
  const hn::CappedTag<float, kCodewords> d;
  HWY_ALIGN float values[kCodewords];
  const auto least = subtract_scaled<kCodewords>(d, products, norms, scale, values);
  store_above<kCodewords>(d, least, values, out);
}

template <std::int64_t kCodewords>
int close_codewords(const std::int32_t* products, const float* norms, float scale,
                    const CloseTest& test, std::uint8_t* out) {
  const hn::CappedTag<float, kCodewords> d;
  HWY_ALIGN float values[kCodewords];
  const auto least = subtract_scaled<kCodewords>(d, products, norms, scale, values);
  const double smallest = hn::GetLane(hn::MinOfLanes(d, least));
  const double nearest = test.base + smallest;
  const double farthest = (nearest > 0 ? __builtin_sqrt(nearest) : 0) + test.apart;
  // Rounded to a float, and one part in a million more, which is more than rounding takes.
  const double most = farthest * farthest - test.base + test.slack;
  const auto limit = hn::Set(d, static_cast<float>(most + (most < 0 ? -most : most) * 1e-6));
  int found = 0;
  for (std::int64_t b = 0; b < kCodewords; b += kLanesOf<decltype(d)>) {
    if (hn::AllFalse(d, hn::Le(hn::LoadU(d, values + b), limit))) continue;
    for (std::int64_t lane = b; lane < b + kLanesOf<decltype(d)>; ++lane) {
      out[found] = static_cast<std::uint8_t>(lane);
      found += values[lane] <= hn::GetLane(limit);
    }
  }
  return found;
}

template <std::int64_t kCodewords>
void pair_row(const std::int32_t* products, float scale, std::uint16_t* out) {
  const hn::CappedTag<float, kCodewords> d;
  const hn::Rebind<std::int32_t, decltype(d)> integers;
  HWY_ALIGN float values[kCodewords];
  auto least = hn::Set(d, 0x1p126F);
  for (std::int64_t b = 0; b < kCodewords; b += kLanesOf<decltype(d)>) {
    const auto product = hn::ConvertTo(d, hn::LoadU(integers, products + b));
    const auto value = round_values(d, hn::Mul(product, hn::Set(d, scale)));
    least = hn::Min(least, value);
    hn::StoreU(value, d, values + b);
  }
  store_above<kCodewords>(d, least, values, out);
}

// ---- ICM

template <std::int64_t kCodewords>
using CodeTag = hn::CappedTag<std::uint16_t, kCodewords>;

// The sums of kOfAHalf codewords stay in registers where eight hold them, as with AVX-512.
template <std::int64_t kOfAHalf>
struct CodewordSums {
  static constexpr std::int64_t kLanes = kLanesOf<CodeTag<kOfAHalf>>;
  static constexpr std::int64_t kRegisters = smaller(kOfAHalf / kLanes, 8);
  static constexpr std::int64_t kAtOnce = kRegisters * kLanes;
  using Sums = hn::Vec<CodeTag<kOfAHalf>>;
};

// Sums of kAtOnce codewords, of which `first` is the first of its half.
template <std::int64_t kCodewords, std::int64_t kOfAHalf, class Sums>
HWY_INLINE void add_rows(const IcmJob& job, std::int64_t vector, int half, std::int64_t first,
                         Sums* sums) {
  using Shape = CodewordSums<kOfAHalf>;
  const CodeTag<kOfAHalf> d;
  const std::uint16_t* const unary = job.unaries + vector * kCodewords + half * kOfAHalf + first;
  const std::uint16_t* const pairs =
      job.pairs + half * (job.codebooks - 1) * kCodewords * kOfAHalf + first;
  for (std::int64_t r = 0; r < Shape::kRegisters; ++r) {
    sums[r] = hn::LoadU(d, unary + r * Shape::kLanes);
  }
  const std::uint8_t* const codes = job.codes + vector * job.codebooks;
  for (int slot = 0; slot + 1 < job.codebooks; ++slot) {
    const int other = slot + static_cast<int>(slot >= job.target);
    const std::uint16_t* const row =
        pairs + (std::int64_t{slot} * kCodewords + codes[other]) * kOfAHalf;
    for (std::int64_t r = 0; r < Shape::kRegisters; ++r) {
      sums[r] = hn::SaturatedAdd(sums[r], hn::LoadU(d, row + r * Shape::kLanes));
    }
  }
}

template <class D, class Sums>
HWY_INLINE std::uint16_t smallest_lane(D d, Sums sums) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  // PHMINPOSUW, which Highway has no name for: 3 to 5 instructions instead of 13.
  if constexpr (sizeof(Sums) == 16) {
    return static_cast<std::uint16_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(sums.raw)));
  } else {
    const hn::Half<D> half;
    return smallest_lane(half, hn::Min(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums)));
  }
#else
  return hn::GetLane(hn::MinOfLanes(d, sums));
#endif
}

// Without a branch on the data: which register holds the smallest sum cannot be predicted.
template <std::int64_t kOfAHalf, class Sums>
HWY_INLINE BestCode best_of(const Sums* sums) {
  using Shape = CodewordSums<kOfAHalf>;
  const CodeTag<kOfAHalf> d;
  Sums least = sums[0];
  Sums code = hn::Iota(d, 0);
  for (std::int64_t r = 1; r < Shape::kRegisters; ++r) {
    const auto own = hn::Iota(d, static_cast<std::uint16_t>(r * Shape::kLanes));
    code = hn::IfThenElse(hn::Lt(sums[r], least), own, code);
    least = hn::Min(least, sums[r]);
  }
  const std::uint16_t smallest = smallest_lane(d, least);
  const auto best = hn::Eq(least, hn::Set(d, smallest));
  const std::uint16_t first = smallest_lane(d, hn::IfThenElse(best, code, hn::Set(d, 0xffff)));
  return {smallest, static_cast<std::uint8_t>(first)};
}

// Of a half, in which codes are counted from its first.
template <std::int64_t kCodewords, std::int64_t kOfAHalf>
HWY_INLINE BestCode best_code(const IcmJob& job, std::int64_t vector, int half) {
  using Shape = CodewordSums<kOfAHalf>;
  typename Shape::Sums sums[Shape::kRegisters];
  add_rows<kCodewords, kOfAHalf>(job, vector, half, 0, sums);
  BestCode best = best_of<kOfAHalf>(sums);
  for (std::int64_t first = Shape::kAtOnce; first < kOfAHalf; first += Shape::kAtOnce) {
    add_rows<kCodewords, kOfAHalf>(job, vector, half, first, sums);
    const BestCode other = best_of<kOfAHalf>(sums);
    if (other.sum < best.sum) best = {other.sum, static_cast<std::uint8_t>(first + other.code)};
  }
  return best;
}

// Vectors whose unaries are asked for ahead: they come from beyond L2, and nobody can guess which
// vectors are left out.
constexpr std::int64_t kVectorsAhead = 4;

template <std::int64_t kCodewords, std::int64_t kOfAHalf>
HWY_INLINE void ask_for_unaries(const IcmJob& job, std::int64_t i, int half) {
  if (i >= job.count) return;
  constexpr std::int64_t kOfALine = 64 / sizeof(std::uint16_t);
  const std::uint16_t* const unaries =
      job.unaries + std::int64_t{job.vectors[i]} * kCodewords + half * kOfAHalf;
  for (std::int64_t b = 0; b < kOfAHalf; b += kOfALine) hwy::Prefetch(unaries + b);
}

HWY_INLINE void set_code(const IcmJob& job, std::int64_t vector, std::uint8_t best) {
  const std::uint64_t own = std::uint64_t{1} << job.target;
  std::uint8_t& code = job.codes[vector * job.codebooks + job.target];
  const bool changed = best != code;
  code = changed ? best : code;
  job.stale[vector] = changed ? ~own : job.stale[vector] & ~own;
}

// use(i, the best code of the half) for each vector to look at.
template <std::int64_t kCodewords, std::int64_t kOfAHalf, class Use>
HWY_INLINE void look_at_half(const IcmJob& job, int half, const Use& use) {
  for (std::int64_t i = 0; i < job.count; ++i) {
    ask_for_unaries<kCodewords, kOfAHalf>(job, i + kVectorsAhead, half);
    use(i, best_code<kCodewords, kOfAHalf>(job, job.vectors[i], half));
  }
}

template <std::int64_t kCodewords>
void icm_step(const IcmJob& job) {
  if (halves_of(job.codebooks, kCodewords) == 1) {
    look_at_half<kCodewords, kCodewords>(
        job, 0, [&](std::int64_t i, BestCode best) { set_code(job, job.vectors[i], best.code); });
    return;
  }
  constexpr std::int64_t kOfAHalf = kCodewords / 2;
  look_at_half<kCodewords, kOfAHalf>(job, 0,
                                     [&](std::int64_t i, BestCode best) { job.best[i] = best; });
  look_at_half<kCodewords, kOfAHalf>(job, 1, [&](std::int64_t i, BestCode best) {
    const BestCode before = job.best[i];
    const auto upper = static_cast<std::uint8_t>(kOfAHalf + best.code);
    set_code(job, job.vectors[i], best.sum < before.sum ? upper : before.code);
  });
}

// ---- Cost

float cost(const float* x, const float* words, std::int64_t cols, int codebooks, int codewords,
           const std::uint8_t* codes) {
  const hn::CappedTag<float, kCostParts> d;
  constexpr std::int64_t kLanes = kLanesOf<decltype(d)>;
  constexpr std::int64_t kRegisters = kCostParts / kLanes;
  using Values = hn::Vec<decltype(d)>;
  Values sums[kRegisters];
  for (Values& sum : sums) sum = hn::Zero(d);
  for (std::int64_t column = 0; column < cols; column += kCostParts) {
    for (std::int64_t r = 0; r < kRegisters; ++r) {
      const std::int64_t at = column + r * kLanes;
      Values rest = hn::LoadU(d, x + at);
      for (int k = 0; k < codebooks; ++k) {
        const std::int64_t row = std::int64_t{k} * codewords + codes[k];
        rest = hn::Sub(rest, hn::LoadU(d, words + row * cols + at));
      }
      sums[r] = hn::Add(sums[r], hn::Mul(rest, rest));
    }
  }
  HWY_ALIGN float parts[kCostParts];
  for (std::int64_t r = 0; r < kRegisters; ++r) hn::StoreU(sums[r], d, parts + r * kLanes);
  for (std::int64_t half = kCostParts / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  }
  return parts[0];
}

// ---- Linear algebra

// kRows rows of c and kRegisters registers of columns.
template <std::int64_t kRows, std::int64_t kRegisters, class D>
HWY_INLINE void subtract_block(D d, double* c, std::int64_t c_stride, const double* a,
                               std::int64_t a_row, std::int64_t a_step, const double* b,
                               std::int64_t b_stride, std::int64_t depth) {
  constexpr std::int64_t kLanes = kLanesOf<D>;
  using Values = hn::Vec<D>;
  Values sums[kRows][kRegisters];
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t r = 0; r < kRegisters; ++r) {
      sums[i][r] = hn::LoadU(d, c + i * c_stride + r * kLanes);
    }
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    Values right[kRegisters];
    for (std::int64_t r = 0; r < kRegisters; ++r) {
      right[r] = hn::LoadU(d, b + p * b_stride + r * kLanes);
    }
    for (std::int64_t i = 0; i < kRows; ++i) {
      const Values left = hn::Set(d, a[i * a_row + p * a_step]);
      for (std::int64_t r = 0; r < kRegisters; ++r) {
        sums[i][r] = hn::Sub(sums[i][r], hn::Mul(left, right[r]));
      }
    }
  }
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t r = 0; r < kRegisters; ++r) {
      hn::StoreU(sums[i][r], d, c + i * c_stride + r * kLanes);
    }
  }
}

// A band of kRegisters registers of columns stays in L1 while the rows pass.
template <std::int64_t kRegisters, class D>
HWY_INLINE void subtract_band(D d, double* c, std::int64_t c_stride, std::int64_t rows,
                              const double* a, std::int64_t a_row, std::int64_t a_step,
                              const double* b, std::int64_t b_stride, std::int64_t depth) {
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    subtract_block<4, kRegisters>(d, c + i * c_stride, c_stride, a + i * a_row, a_row, a_step, b,
                                  b_stride, depth);
  }
  for (; i < rows; ++i) {
    subtract_block<1, kRegisters>(d, c + i * c_stride, c_stride, a + i * a_row, a_row, a_step, b,
                                  b_stride, depth);
  }
}

void subtract_products(double* c, std::int64_t c_stride, std::int64_t rows, std::int64_t cols,
                       const double* a, std::int64_t a_row, std::int64_t a_step, const double* b,
                       std::int64_t b_stride, std::int64_t depth) {
  const hn::ScalableTag<double> d;
  constexpr std::int64_t kLanes = kLanesOf<decltype(d)>;
  constexpr std::int64_t kRegisters = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
  std::int64_t j = 0;
  for (; j + kRegisters * kLanes <= cols; j += kRegisters * kLanes) {
    subtract_band<kRegisters>(d, c + j, c_stride, rows, a, a_row, a_step, b + j, b_stride, depth);
  }
  for (; j + kLanes <= cols; j += kLanes) {
    subtract_band<1>(d, c + j, c_stride, rows, a, a_row, a_step, b + j, b_stride, depth);
  }
  const hn::CappedTag<double, 1> one;
  for (; j < cols; ++j) {
    subtract_band<1>(one, c + j, c_stride, rows, a, a_row, a_step, b + j, b_stride, depth);
  }
}

template <std::int64_t kCodewords>
constexpr CodeKernels kCodes{products<kCodewords>, unaries<kCodewords>,
                             pair_row<kCodewords>, close_codewords<kCodewords>,
                             icm_step<kCodewords>, cost,
                             subtract_products};

constexpr CodeKernels kCodesOf4Bits = kCodes<16>;
constexpr CodeKernels kCodesOf8Bits = kCodes<256>;

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const CodeKernels& code_kernels(Isa isa, int codewords) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit)                                   \
  if (vectors == Isa::name) {                                               \
    return codewords == 16 ? target::kCodesOf4Bits : target::kCodesOf8Bits; \
  }
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return codewords == 16 ? HWY_STATIC_DISPATCH(kCodesOf4Bits) : HWY_STATIC_DISPATCH(kCodesOf8Bits);
}

}  // namespace nearfield
#endif
