// Written once; Highway has what each ISA needs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filter/bits/cpu/bit_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/targets.h"
#include "filter/bits/bit_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

#include "filter/bits/cpu/count-inl.h"
#include "filter/bits/cpu/expand-inl.h"
#include "filter/bits/cpu/interleave-inl.h"
#include "filter/bits/cpu/picked-inl.h"

constexpr BitKernel kBits{interleave, find, expand, count_picked};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const BitKernel& bit_kernel(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kBits;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kBits);
}

}  // namespace nearfield
#endif
