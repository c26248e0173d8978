// The kernels of level_kernels.hpp, once for every ISA.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/cpu/level_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/targets.h"
#include "scan/level_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using LevelTag = hn::CappedTag<std::uint8_t, 64>;
constexpr auto kLevels = static_cast<std::int64_t>(hn::MaxLanes(LevelTag()));

// Bit i: level i of 64 is in the range.
HWY_INLINE std::uint64_t word_in_range(const std::uint8_t* levels, std::uint8_t low,
                                       std::uint8_t width) {
  const LevelTag d;
  const auto lows = hn::Set(d, low);
  const auto widths = hn::Set(d, width);
  std::uint64_t word = 0;
  for (std::int64_t i = 0; i < 64; i += kLevels) {
    // Levels below the range come out far above it.
    const auto above = hn::Sub(hn::LoadU(d, levels + i), lows);
    std::uint64_t bits = 0;
    hn::StoreMaskBits(d, hn::Eq(hn::SaturatedSub(above, widths), hn::Zero(d)),
                      reinterpret_cast<std::uint8_t*>(&bits));
    word |= bits << i;
  }
  return word;
}

std::int64_t find_levels(const std::uint8_t* levels, std::int64_t count, std::uint8_t low,
                         std::uint8_t high, std::uint32_t* rows) {
  const auto width = static_cast<std::uint8_t>(high - low);
  std::int64_t found = 0;
  std::int64_t row = 0;
  for (; row + 64 <= count; row += 64) {
    for (std::uint64_t word = word_in_range(levels + row, low, width); word != 0;
         word &= word - 1) {
      const auto bit = hwy::Num0BitsBelowLS1Bit_Nonzero64(word);
      rows[found++] = static_cast<std::uint32_t>(row + static_cast<std::int64_t>(bit));
    }
  }
  for (; row < count; ++row) {
    if (levels[row] >= low && levels[row] <= high) rows[found++] = static_cast<std::uint32_t>(row);
  }
  return found;
}

constexpr LevelKernels kLevelKernels{find_levels};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const LevelKernels& level_kernels(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kLevelKernels;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kLevelKernels);
}

}  // namespace nearfield
#endif
