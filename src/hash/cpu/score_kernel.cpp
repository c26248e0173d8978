// Written once; Highway has what each ISA needs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hash/cpu/score_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/targets.h"
#include "hash/score_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

inline std::int64_t find_one_by_one(const ScoreJob& job, std::int64_t from, std::int64_t count) {
  for (std::int64_t row = from; row < job.rows; ++row) {
    unsigned score = 0;
    for (std::int64_t table = 0; table < job.tables; ++table) {
      const unsigned differing = job.buckets[table * job.stride + row] ^ job.query[table];
      score += job.weights[static_cast<unsigned>(__builtin_popcount(differing))];
    }
    if (score >= job.threshold) job.found[count++] = static_cast<std::uint32_t>(row);
  }
  return count;
}

// A register of rows at a time: their scores stay in it from the first table to the last.
inline std::int64_t find_scored(const ScoreJob& job) {
  std::int64_t row = 0;
  std::int64_t count = 0;
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<std::uint8_t> bytes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(bytes));
  const auto weights = hn::LoadDup128(bytes, job.weights.data());
  const auto threshold = hn::Set(bytes, job.threshold);
  std::uint8_t mask[HWY_MAX_BYTES / 8 + 8];
  for (; row + lanes <= job.rows; row += lanes) {
    auto scores = hn::Zero(bytes);
    for (std::int64_t table = 0; table < job.tables; ++table) {
      const auto buckets = hn::LoadU(bytes, job.buckets + table * job.stride + row);
      const auto differing = hn::Xor(buckets, hn::Set(bytes, job.query[table]));
      const auto bits = hn::PopulationCount(differing);
      scores = hn::Add(scores, hn::TableLookupBytes(weights, bits));
    }
    const auto reached = hn::Eq(hn::Max(scores, threshold), scores);
    if (hn::AllFalse(bytes, reached)) continue;
    for (std::size_t byte = 0, used = hn::StoreMaskBits(bytes, reached, mask); byte < used;
         ++byte) {
      for (unsigned left = mask[byte]; left != 0; left &= left - 1) {
        job.found[count++] = static_cast<std::uint32_t>(row + static_cast<std::int64_t>(byte) * 8 +
                                                        __builtin_ctz(left));
      }
    }
  }
#endif
  return find_one_by_one(job, row, count);
}

constexpr ScoreKernel kScores{find_scored};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const ScoreKernel& score_kernel(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kScores;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kScores);
}

}  // namespace nearfield
#endif
