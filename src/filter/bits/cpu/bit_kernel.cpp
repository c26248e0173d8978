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

constexpr BitKernel k_bits{interleave, find, expand};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nearfield {
namespace {

const BitKernel* built_for(Isa isa) {
#define NEARFIELD_CASE(name, target, bit) \
  if (isa == Isa::name) return &target::k_bits;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return nullptr;
}

}  // namespace

const BitKernel& bit_kernel(Isa isa) {
  if (const BitKernel* own = built_for(isa)) return *own;
  // AMX has no counts: with its tiles go the vectors of the best ISA before it.
  const BitKernel* best = built_for(Isa::avx512icl);
  return best != nullptr ? *best : *built_for(Isa::avx512);
}

}  // namespace nearfield
#endif
