// The kernels of edit_kernel.hpp, once for every ISA.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "object/cpu/edit_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/targets.h"
#include "object/edit_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using PlaceTag = hn::CappedTag<std::uint64_t, 8>;
using CountTag = hn::RebindToSigned<PlaceTag>;
using Places = hn::Vec<PlaceTag>;
using Counts = hn::Vec<CountTag>;
constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(PlaceTag()));
// What one register waits for, the other has time to do.
constexpr std::int64_t kRegisters = 2;
constexpr std::int64_t kAtOnce = kRegisters * kLanes;
// Letters between two looks at whether all are too far.
constexpr std::int64_t kLettersPerLook = 8;

// A column of the table of edits for each of some texts, as differences from place to place (G.
// Myers, A fast bit-vector algorithm for approximate string matching based on dynamic programming,
// J. ACM 46, 1999; H. Hyyro's form for distances).
struct Column {
  Places rises;
  Places falls;
  Counts last;     // the number at the column's end
  Counts lengths;  // of the texts
};

// None without values: a constructor that is not written has no target with GCC 12 on AArch64.
HWY_INLINE Column first_column(const EditJob& job, const std::int64_t* lengths) {
  const PlaceTag d;
  const CountTag counts;
  return {hn::Set(d, ~std::uint64_t{0}), hn::Zero(d), hn::Set(counts, job.length),
          hn::Load(counts, lengths)};
}

HWY_INLINE void advance(Column& column, Places same, std::int64_t letter, int end) {
  const PlaceTag d;
  const CountTag counts;
  const Places vertical = hn::Or(same, column.falls);
  const Places carried = hn::Add(hn::And(same, column.rises), column.rises);
  const Places horizontal = hn::Or(hn::Xor(carried, column.rises), same);
  Places up = hn::Or(column.falls, hn::Not(hn::Or(horizontal, column.rises)));
  Places down = hn::And(column.rises, horizontal);
  const Places one = hn::Set(d, 1);
  const Places more = hn::And(hn::ShiftRightSame(up, end), one);
  const Places less = hn::And(hn::ShiftRightSame(down, end), one);
  const auto goes_on = hn::Gt(column.lengths, hn::Set(counts, letter));
  const Counts change = hn::BitCast(counts, hn::Sub(more, less));
  column.last = hn::Add(column.last, hn::IfThenElseZero(goes_on, change));
  up = hn::Or(hn::ShiftLeft<1>(up), one);
  down = hn::ShiftLeft<1>(down);
  column.rises = hn::Or(down, hn::Not(hn::Or(vertical, up)));
  column.falls = hn::And(up, vertical);
}

// Letters that are left lower a distance by 1 each at most.
HWY_INLINE bool all_too_far(const Column& column, std::int64_t done, Counts limit) {
  const CountTag d;
  const Counts left = hn::Max(hn::Sub(column.lengths, hn::Set(d, done)), hn::Zero(d));
  return hn::AllTrue(d, hn::Gt(hn::Sub(column.last, left), limit));
}

// Of up to kAtOnce texts.
HWY_INLINE void distances_of_some(const EditJob& job, const EditText* texts, std::int64_t count,
                                  std::int64_t limit, double* out) {
  const PlaceTag d;
  const CountTag counts;
  HWY_ALIGN std::uint64_t same[kMostKernelText * kAtOnce];
  HWY_ALIGN std::int64_t numbers[kAtOnce] = {};
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers[i] = texts[i].size;
    if (texts[i].size > longest) longest = texts[i].size;
  }
  for (std::int64_t i = 0; i < kAtOnce; ++i) {
    std::int64_t letter = 0;
    for (; letter < numbers[i]; ++letter) {
      same[letter * kAtOnce + i] = job.places[texts[i].letters[letter]];
    }
    for (; letter < longest; ++letter) same[letter * kAtOnce + i] = 0;
  }
  static_assert(kRegisters == 2);
  Column columns[] = {first_column(job, numbers), first_column(job, numbers + kLanes)};
  const Counts most = hn::Set(counts, limit);
  for (std::int64_t letter = 0; letter < longest; ++letter) {
    for (std::int64_t r = 0; r < kRegisters; ++r) {
      advance(columns[r], hn::Load(d, same + letter * kAtOnce + r * kLanes), letter,
              static_cast<int>(job.length - 1));
    }
    if (letter % kLettersPerLook != kLettersPerLook - 1) continue;
    bool too_far = true;
    for (const Column& column : columns) too_far = too_far && all_too_far(column, letter + 1, most);
    if (!too_far) continue;
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(limit + 1);
    return;
  }
  for (std::int64_t r = 0; r < kRegisters; ++r) {
    hn::Store(columns[r].last, counts, numbers + r * kLanes);
  }
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(numbers[i]);
}

void edit_distances(const EditJob& job) {
  // Distances are whole, and at most the length of the longer text.
  const std::int64_t limit = job.limit < 2 * kMostKernelText
                                 ? static_cast<std::int64_t>(job.limit < 0 ? -1 : job.limit)
                                 : 2 * kMostKernelText;
  for (std::int64_t first = 0; first < job.count; first += kAtOnce) {
    const std::int64_t count = first + kAtOnce < job.count ? kAtOnce : job.count - first;
    distances_of_some(job, job.texts + first, count, limit, job.distances + first);
  }
}

constexpr EditKernels kEditKernels{edit_distances};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const EditKernels& edit_kernels(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kEditKernels;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kEditKernels);
}

}  // namespace nearfield
#endif
