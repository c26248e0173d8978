// The kernels of value_kernels.hpp, once for every ISA.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "select/cpu/value_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <limits>

#include "device/targets.h"
#include "select/value_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Targets of unknown width are not built.
template <class T>
using Registers = hn::ScalableTag<T>;
template <class T>
constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Registers<T>()));
template <class T>
constexpr std::int64_t kBlock = kGroup * kLanes<T>;
static_assert(kBlock<float> <= kMostBlock);

// Values whose answers fit a word.
constexpr std::int64_t kWord = 64;
constexpr std::size_t kMostOneByOne = 16;  // of a word; a guess, other values were not timed

template <class T, bool kLargest>
struct Order {
  static constexpr T kLastOfAll =
      kLargest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();

  static HWY_INLINE bool in_time(T value, T last) {
    return kLargest ? value >= last : value <= last;
  }

  template <class V>
  static HWY_INLINE auto in_time(V values, V last) {
    if constexpr (kLargest) {
      return hn::Ge(values, last);
    } else {
      return hn::Le(values, last);
    }
  }

  // `values` may hold NaN, `best` may not: neither does what comes out. Not hn::Min: what that
  // makes of a NaN differs from target to target.
  template <class V>
  static HWY_INLINE V first(V values, V best) {
    if constexpr (kLargest) {
      return hn::IfThenElse(hn::Gt(values, best), values, best);
    } else {
      return hn::IfThenElse(hn::Lt(values, best), values, best);
    }
  }
};

// Group i of a block is lane i of its registers. Two chains: a comparison and a blend take 4 to 5
// cycles, in which two registers at most come from L2.
template <class T, bool kLargest>
std::int64_t group_firsts(const T* values, std::int64_t count, T* firsts) {
  using By = Order<T, kLargest>;
  const Registers<T> d;
  const std::int64_t groups = count / kBlock<T> * kLanes<T>;
  const auto none = hn::Set(d, By::kLastOfAll);
  for (std::int64_t group = 0; group < groups; group += kLanes<T>) {
    const T* const block = values + group * kGroup;
    auto even = none;
    auto odd = none;
    for (std::int64_t i = 0; i < kGroup; i += 2) {
      even = By::first(hn::LoadU(d, block + i * kLanes<T>), even);
      odd = By::first(hn::LoadU(d, block + (i + 1) * kLanes<T>), odd);
    }
    hn::StoreU(By::first(even, odd), d, firsts + group);
  }
  return groups;
}

template <class T, bool kLargest>
std::int64_t count_in_time(const T* values, std::int64_t count, T last) {
  using By = Order<T, kLargest>;
  constexpr std::int64_t kAtOnce = 4;  // registers: a loop of one has as much to do for itself
  const Registers<T> d;
  const auto lasts = hn::Set(d, last);
  std::size_t found = 0;
  std::int64_t i = 0;
  for (; i + kAtOnce * kLanes<T> <= count; i += kAtOnce * kLanes<T>) {
    for (std::int64_t r = 0; r < kAtOnce; ++r) {
      const auto some = hn::LoadU(d, values + i + r * kLanes<T>);
      found += hn::CountTrue(d, By::in_time(some, lasts));
    }
  }
  for (; i < count; ++i) found += By::in_time(values[i], last);
  return static_cast<std::int64_t>(found);
}

// Bit i: value i of kWord values is in time.
template <class T, bool kLargest>
HWY_INLINE std::uint64_t word_in_time(const T* values, T last) {
  const Registers<T> d;
  const auto lasts = hn::Set(d, last);
  std::uint64_t word = 0;
  for (std::int64_t i = 0; i < kWord; i += kLanes<T>) {
    std::uint64_t bits = 0;
    hn::StoreMaskBits(d, Order<T, kLargest>::in_time(hn::LoadU(d, values + i), lasts),
                      reinterpret_cast<std::uint8_t*>(&bits));
    word |= bits << i;
  }
  return word;
}

template <class T, bool kLargest>
HWY_INLINE bool any_in_time(const T* firsts, T last) {
  const Registers<T> d;
  return !hn::AllFalse(d, Order<T, kLargest>::in_time(hn::LoadU(d, firsts), hn::Set(d, last)));
}

// Appends to `positions`, of which there are `found`.
template <class T, bool kLargest>
HWY_INLINE std::int64_t find_one_by_one(const T* values, std::int64_t begin, std::int64_t end,
                                        T last, std::uint32_t* positions, std::int64_t found) {
  for (std::int64_t i = begin; i < end; ++i) {
    positions[found] = static_cast<std::uint32_t>(i);
    found += Order<T, kLargest>::in_time(values[i], last);
  }
  return found;
}

// Likewise, begin + i for each bit i. Takes as long for 1 bit as for 64. Writes a whole register at
// a time, whose end the next one overwrites: as no more were found than looked at, it ends before
// `begin + kWord`.
HWY_INLINE std::int64_t write_at_once(std::uint64_t word, std::int64_t begin,
                                      std::uint32_t* positions, std::int64_t found) {
  const Registers<std::uint32_t> d;
  constexpr std::int64_t lanes = kLanes<std::uint32_t>;
  for (std::int64_t i = 0; i < kWord; i += lanes) {
    const std::uint64_t bits = (word >> i) & ((std::uint64_t{1} << lanes) - 1);
    const auto next = hn::Iota(d, static_cast<std::uint32_t>(begin + i));
    found += static_cast<std::int64_t>(hn::CompressBitsStore(
        next, reinterpret_cast<const std::uint8_t*>(&bits), d, positions + found));
  }
  return found;
}

// Likewise.
HWY_INLINE std::int64_t write_one_by_one(std::uint64_t word, std::int64_t begin,
                                         std::uint32_t* positions, std::int64_t found) {
  for (; word != 0; word &= word - 1) {
    const auto bit = hwy::Num0BitsBelowLS1Bit_Nonzero64(word);
    positions[found++] = static_cast<std::uint32_t>(begin + static_cast<std::int64_t>(bit));
  }
  return found;
}

// Likewise, of those in time.
template <class T, bool kLargest>
HWY_INLINE std::int64_t find_by_words(const T* values, std::int64_t begin, std::int64_t end, T last,
                                      std::uint32_t* positions, std::int64_t found) {
  for (; begin + kWord <= end; begin += kWord) {
    const std::uint64_t word = word_in_time<T, kLargest>(values + begin, last);
    found = hwy::PopCount(word) > kMostOneByOne ? write_at_once(word, begin, positions, found)
                                                : write_one_by_one(word, begin, positions, found);
  }
  return find_one_by_one<T, kLargest>(values, begin, end, last, positions, found);
}

template <class T, bool kLargest>
std::int64_t find_in_time(const T* values, std::int64_t count, T last, const T* firsts,
                          std::uint32_t* positions) {
  std::int64_t found = 0;
  std::int64_t begin = 0;
  if (firsts != nullptr) {
    for (; begin + kBlock<T> <= count; begin += kBlock<T>) {
      if (!any_in_time<T, kLargest>(firsts + begin / kGroup, last)) continue;
      found = find_by_words<T, kLargest>(values, begin, begin + kBlock<T>, last, positions, found);
    }
  }
  return find_by_words<T, kLargest>(values, begin, count, last, positions, found);
}

template <class T, bool kLargest>
std::int64_t copy_between(const T* values, std::int64_t count, T after, T last, T* out,
                          std::int64_t* before) {
  using By = Order<T, kLargest>;
  std::int64_t copied = 0;
  std::int64_t i = 0;
  for (; i + kWord <= count; i += kWord) {
    const std::uint64_t skipped = word_in_time<T, kLargest>(values + i, after);
    *before += static_cast<std::int64_t>(hwy::PopCount(skipped));
    for (std::uint64_t word = word_in_time<T, kLargest>(values + i, last) & ~skipped; word != 0;
         word &= word - 1) {
      out[copied++] =
          values[i + static_cast<std::int64_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(word))];
    }
  }
  for (; i < count; ++i) {
    const bool skipped = By::in_time(values[i], after);
    *before += skipped;
    if (!skipped && By::in_time(values[i], last)) out[copied++] = values[i];
  }
  return copied;
}

template <class T, bool kLargest>
constexpr ValueKernels<T> kernels_of() {
  return {group_firsts<T, kLargest>, count_in_time<T, kLargest>, find_in_time<T, kLargest>,
          copy_between<T, kLargest>};
}

constexpr SelectKernels kSelect = {HWY_STR(HWY_NAMESPACE),
                                   {kernels_of<float, false>(), kernels_of<float, true>()},
                                   {kernels_of<double, false>(), kernels_of<double, true>()}};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nearfield {

const SelectKernels* built_select_kernels(Isa isa) {
#define NEARFIELD_CASE(name, target, bit) \
  if (isa == Isa::name) return &target::kSelect;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return nullptr;
}

}  // namespace nearfield
#endif
