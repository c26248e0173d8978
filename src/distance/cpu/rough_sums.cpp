#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "distance/cpu/rough_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "device/targets.h"
#include "distance/rough_sums.hpp"

#if HWY_ARCH_X86
#include <xmmintrin.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

#include "distance/cpu/load_floats-inl.h"

using Tag = hn::CappedTag<float, kRoughParts>;
using Values = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
constexpr std::int64_t kParts = kRoughParts / kLanes;

#if HWY_ARCH_X86
// Denormal numbers are zero, for as long as it lives: with one of them an operation takes some 150
// cycles. In float64, where keys are computed, values of the smaller types have none.
class FlushDenormals {
 public:
  HWY_INLINE FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  HWY_INLINE ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};
#else
struct FlushDenormals {};
#endif

struct Distance {
  static constexpr std::int64_t sums = 1;

  static HWY_INLINE void accumulate(Values* sum, Values x, Values y) {
    const Values difference = hn::Sub(x, y);
    sum[0] = hn::MulAdd(difference, difference, sum[0]);
  }
};

struct Product {
  static constexpr std::int64_t sums = 2;

  static HWY_INLINE void accumulate(Values* sum, Values x, Values y) {
    sum[0] = hn::MulAdd(x, y, sum[0]);
    sum[1] = hn::MulAdd(y, y, sum[1]);
  }
};

// Eight chains of additions: one takes 4 cycles, and two begin in each.
template <class Sum>
constexpr std::int64_t kRowsAtOnce = kParts * Sum::sums < 8 ? 8 / (kParts * Sum::sums) : 1;

template <class Sum, class T>
void add_up(const RoughJob& job) {
  constexpr std::int64_t kRows = kRowsAtOnce<Sum>;
  const Tag d;
  const std::int64_t whole = job.cols / kRoughParts * kRoughParts;
  const std::int64_t rest = job.cols - whole;

  for (std::int64_t first = 0; first < job.count; first += kRows) {
    const T* row[kRows];
    Values sums[kRows][kParts][Sum::sums];
    for (std::int64_t r = 0; r < kRows; ++r) {
      // Past the end the last row stands in.
      const std::int64_t i = first + r < job.count ? first + r : job.count - 1;
      const std::int64_t number = job.picks != nullptr ? job.picks[i] : i;
      row[r] = reinterpret_cast<const T*>(job.rows + number * job.stride);
      for (std::int64_t part = 0; part < kParts; ++part) {
        for (std::int64_t s = 0; s < Sum::sums; ++s) sums[r][part][s] = hn::Zero(d);
      }
    }
    for (std::int64_t at = 0; at < whole; at += kRoughParts) {
      for (std::int64_t part = 0; part < kParts; ++part) {
        const Values query = hn::LoadU(d, job.query + at + part * kLanes);
        for (std::int64_t r = 0; r < kRows; ++r) {
          Sum::accumulate(sums[r][part], query, load_floats(d, row[r] + at + part * kLanes));
        }
      }
    }
    if (rest != 0) {
      for (std::int64_t r = 0; r < kRows; ++r) {
        T tail[kRoughParts] = {};
        __builtin_memcpy(tail, row[r] + whole, static_cast<std::size_t>(rest) * sizeof(T));
        for (std::int64_t part = 0; part < kParts; ++part) {
          Sum::accumulate(sums[r][part], hn::LoadU(d, job.query + whole + part * kLanes),
                          load_floats(d, tail + part * kLanes));
        }
      }
    }
    for (std::int64_t r = 0; r < kRows && first + r < job.count; ++r) {
      float total[Sum::sums];
      for (std::int64_t s = 0; s < Sum::sums; ++s) {
        Values sum = sums[r][0][s];
        for (std::int64_t part = 1; part < kParts; ++part) sum = hn::Add(sum, sums[r][part][s]);
        total[s] = hn::GetLane(hn::SumOfLanes(d, sum));
      }
      job.sums[first + r] = total[0];
      if constexpr (Sum::sums > 1) job.squares[first + r] = total[1];
    }
  }
}

template <class Sum, class T>
void compute(const RoughJob& job) {
  if constexpr (std::is_same_v<T, Float16>) {
    add_up<Sum, T>(job);  // is loaded by way of denormals, and has none as float32
  } else {
    [[maybe_unused]] const FlushDenormals flush;
    add_up<Sum, T>(job);
  }
}

// None for one lane, which is not faster in float32.
template <class Sum>
constexpr std::array<RoughKernel, kDTypeCount> kernels_of() {
  if constexpr (kLanes == 1) {
    return {};
  } else {
    return {nullptr,
            compute<Sum, float>,
            compute<Sum, Float16>,
            compute<Sum, BFloat16>,
            compute<Sum, std::uint8_t>,
            compute<Sum, std::int8_t>,
            nullptr};
  }
}

constexpr RoughKernels kRough{kernels_of<Distance>(), kernels_of<Product>()};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const RoughKernels& rough_kernels(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kRough;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kRough);
}

}  // namespace nearfield
#endif
