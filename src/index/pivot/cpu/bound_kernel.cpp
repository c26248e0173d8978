// The kernels of bound_kernel.hpp, once for every ISA.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "index/pivot/cpu/bound_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/targets.h"
#include "index/pivot/bound_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kObjects = 64;  // of a block

using BucketTag = hn::CappedTag<std::uint8_t, 64>;
using Buckets = hn::Vec<BucketTag>;
constexpr auto kBuckets = static_cast<std::int64_t>(hn::MaxLanes(BucketTag()));

HWY_INLINE Buckets raised(Buckets level, Buckets bucket, Buckets above, Buckets below) {
  const Buckets farther = hn::SaturatedSub(bucket, above);
  const Buckets nearer = hn::SaturatedSub(below, bucket);
  return hn::Max(level, hn::Max(farther, nearer));
}

void scan_all_pivots(const PivotScan& scan) {
  const BucketTag d;
  for (std::int64_t block = 0; block < scan.block_count; ++block) {
    const std::uint8_t* const buckets = scan.blocks + block * scan.block_bytes;
    std::uint8_t* const levels = scan.levels + block * kObjects;
    for (std::int64_t i = 0; i < kObjects; i += kBuckets) {
      Buckets level = hn::LoadU(d, levels + i);
      for (std::int64_t slot = 0; slot < scan.slots; ++slot) {
        level = raised(level, hn::LoadU(d, buckets + slot * kObjects + i),
                       hn::Set(d, scan.reach->above[static_cast<std::size_t>(slot)]),
                       hn::Set(d, scan.reach->below[static_cast<std::size_t>(slot)]));
      }
      hn::StoreU(level, d, levels + i);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE Buckets looked_up(const std::uint8_t* table, Buckets numbers, std::int64_t /*pool*/) {
  return hn::Set(BucketTag(), table[hn::GetLane(numbers)]);
}

#else

// An instruction looks up 16 entries and says 0 for a number of 128 or more, which all numbers are
// made but those of the 16 in turn.
HWY_INLINE Buckets looked_up(const std::uint8_t* table, Buckets numbers, std::int64_t pool) {
  const BucketTag d;
  constexpr std::int64_t kEntries = 16;
  Buckets result = hn::Zero(d);
  const Buckets others = hn::Set(d, 128 - kEntries);
  for (std::int64_t first = 0; first < pool; first += kEntries) {
    const Buckets entries = hn::LoadDup128(d, table + first);
    const Buckets within = hn::Sub(numbers, hn::Set(d, static_cast<std::uint8_t>(first)));
    const Buckets entry = hn::And(hn::SaturatedAdd(within, others), hn::Set(d, 128 + kEntries - 1));
    result = hn::Or(result, hn::TableLookupBytesOr0(entries, entry));
  }
  return result;
}

#endif

void scan_kept_pivots(const PivotScan& scan) {
  const BucketTag d;
  for (std::int64_t block = 0; block < scan.block_count; ++block) {
    const std::uint8_t* const slots = scan.blocks + block * scan.block_bytes;
    std::uint8_t* const levels = scan.levels + block * kObjects;
    for (std::int64_t i = 0; i < kObjects; i += kBuckets) {
      Buckets level = hn::LoadU(d, levels + i);
      for (std::int64_t slot = 0; slot < scan.slots; ++slot) {
        const std::uint8_t* const entry = slots + 2 * slot * kObjects + i;
        const Buckets numbers = hn::LoadU(d, entry + kObjects);
        level = raised(level, hn::LoadU(d, entry),
                       looked_up(scan.reach->above.data(), numbers, scan.pool),
                       looked_up(scan.reach->below.data(), numbers, scan.pool));
      }
      hn::StoreU(level, d, levels + i);
    }
  }
}

constexpr BoundKernels kBoundKernels{scan_all_pivots, scan_kept_pivots};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const BoundKernels& bound_kernels(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kBoundKernels;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kBoundKernels);
}

}  // namespace nearfield
#endif
