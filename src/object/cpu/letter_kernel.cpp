// The kernels of letter_kernel.hpp, once for every ISA.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "object/cpu/letter_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/targets.h"
#include "object/letter_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using LetterTag = hn::CappedTag<std::uint64_t, 8>;
using Letters = hn::Vec<LetterTag>;
constexpr auto kTexts = static_cast<std::int64_t>(hn::MaxLanes(LetterTag()));

// Of numbers below 2^63, which all targets compare fast as signed ones.
HWY_INLINE Letters larger(Letters a, Letters b) {
  const hn::RebindToSigned<LetterTag> signed_tag;
  return hn::BitCast(LetterTag(), hn::Max(hn::BitCast(signed_tag, a), hn::BitCast(signed_tag, b)));
}

HWY_INLINE Letters bounds(Letters query, Letters text) {
  const LetterTag d;
  const Letters letters = hn::Set(d, (std::uint64_t{1} << kLetterBits) - 1);
  const Letters differ = hn::And(hn::Xor(query, text), letters);
  const Letters missing = hn::PopulationCount(hn::And(differ, query));
  const Letters added = hn::PopulationCount(hn::And(differ, text));
  const Letters length = hn::ShiftRight<kLetterBits>(query);
  const Letters other = hn::ShiftRight<kLetterBits>(text);
  const Letters longer = larger(hn::Sub(length, other), hn::Sub(other, length));
  return larger(longer, larger(missing, added));
}

void raise_by_letters(std::uint64_t query, const std::uint64_t* words, std::int64_t count,
                      std::uint8_t* levels) {
  const LetterTag d;
  const hn::Rebind<std::uint8_t, LetterTag> bytes;
  const Letters own = hn::Set(d, query);
  std::int64_t i = 0;
  for (; i + kTexts <= count; i += kTexts) {
    const auto bound = hn::TruncateTo(bytes, bounds(own, hn::LoadU(d, words + i)));
    hn::StoreU(hn::Max(bound, hn::LoadU(bytes, levels + i)), bytes, levels + i);
  }
  for (; i < count; ++i) {
    const auto bound = static_cast<std::uint8_t>(hn::GetLane(bounds(own, hn::Set(d, words[i]))));
    if (bound > levels[i]) levels[i] = bound;
  }
}

constexpr LetterKernels kLetterKernels{raise_by_letters};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const LetterKernels& letter_kernels(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kLetterKernels;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kLetterKernels);
}

}  // namespace nearfield
#endif
