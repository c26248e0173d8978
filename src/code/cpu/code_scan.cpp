#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "code/cpu/code_scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "code/code_scan.hpp"
#include "device/targets.h"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kEntries = kPairEntries / 2;  // of a code of 4 bits

// Codebook by codebook, so that the sums of different rows do not wait for each other.
inline void sum_one_by_one(const CodeSumJob& job) {
  for (std::int64_t row = 0; row < kScanRows; ++row) job.sums[row] = 0;
  for (int k = 0; k < job.codebooks; ++k) {
    const std::uint8_t* const pairs = job.block + k / 2 * kScanRows;
    const float* const table = job.tables + k * kEntries;
    for (std::int64_t row = 0; row < kScanRows; ++row) {
      job.sums[row] += table[k % 2 == 0 ? pairs[row] & 15 : pairs[row] >> 4];
    }
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

void sum_codes(const CodeSumJob& job) { sum_one_by_one(job); }

void scan_codes(const CodeScanJob& job) {
  const int columns = job.pair_columns + job.byte_columns;
  for (std::int64_t block = 0; block < job.count; ++block) {
    const std::uint8_t* const codes = job.blocks + block * columns * kScanRows;
    std::uint64_t near = 0;
    for (std::int64_t row = 0; row < kScanRows; ++row) {
      const std::uint8_t* table = job.tables;
      int sum = 0;
      for (int column = 0; column < columns; ++column) {
        const int code = codes[column * kScanRows + row];
        if (column < job.pair_columns) {
          sum += table[code & 15] + table[kPairEntries / 2 + (code >> 4)];
          table += kPairEntries;
        } else {
          sum += table[code];
          table += kByteEntries;
        }
      }
      near |= static_cast<std::uint64_t>(sum <= job.most) << row;
    }
    job.near[block] = near;
  }
}

void round_entries_down(const float* values, std::int64_t count, float least, float scale,
                        std::uint8_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float entry = (values[i] - least) * scale;
    const auto most = static_cast<float>(kMostEntry);
    out[i] = static_cast<std::uint8_t>(entry < most ? entry : most);
  }
}

#else

using CodeTag = hn::CappedTag<std::uint8_t, kScanRows>;
using CodeVector = hn::Vec<CodeTag>;
constexpr std::int64_t kCodeLanes = static_cast<std::int64_t>(hn::MaxLanes(CodeTag()));
constexpr std::int64_t kCodeRegisters = kScanRows / kCodeLanes;

// A table of 256 entries, looked up by one register of codes.
#if HWY_TARGET == HWY_AVX3_DL

// Two lookups of 128 entries each, of which the code's highest bit chooses.
struct ByteTable {
  explicit ByteTable(const std::uint8_t* entries)
      : quarters{_mm512_loadu_si512(entries), _mm512_loadu_si512(entries + 64),
                 _mm512_loadu_si512(entries + 128), _mm512_loadu_si512(entries + 192)} {}
  HWY_INLINE CodeVector look_up(CodeVector codes) const {
    const __m512i lower = _mm512_permutex2var_epi8(quarters[0], codes.raw, quarters[1]);
    const __m512i upper = _mm512_permutex2var_epi8(quarters[2], codes.raw, quarters[3]);
    return CodeVector{_mm512_mask_mov_epi8(lower, _mm512_movepi8_mask(codes.raw), upper)};
  }
  __m512i quarters[4];
};

#elif HWY_TARGET == HWY_AVX3

// 16 lookups of 16 entries, of which the code's upper bits choose, each a mask: a sixth of the time
// that codes take one by one (1.0 and 6.0 ns of 8 columns on a core of a Cascade Lake).
struct ByteTable {
  using Bits = hn::Mask<CodeTag>;

  explicit ByteTable(const std::uint8_t* all) : entries(all) {}
  HWY_INLINE CodeVector look_up(CodeVector codes) const {
    const CodeTag d;
    const Bits bits[4] = {hn::TestBit(codes, hn::Set(d, 16)), hn::TestBit(codes, hn::Set(d, 32)),
                          hn::TestBit(codes, hn::Set(d, 64)), hn::TestBit(codes, hn::Set(d, 128))};
    return among<4>(entries, hn::And(codes, hn::Set(d, 15)), bits);
  }

  // Among 16 << kBits entries. One half after the other: all 16 lookups at once do not fit the
  // registers, and take five times as long.
  template <int kBits>
  static HWY_INLINE CodeVector among(const std::uint8_t* some, CodeVector lowest,
                                     const Bits* bits) {
    if constexpr (kBits == 0) {
      return hn::TableLookupBytes(hn::LoadDup128(CodeTag(), some), lowest);
    } else {
      constexpr int kHalf = 8 << kBits;
      const CodeVector lower = among<kBits - 1>(some, lowest, bits);
      const CodeVector upper = among<kBits - 1>(some + kHalf, lowest, bits);
      return hn::IfThenElse(bits[kBits - 1], upper, lower);
    }
  }

  const std::uint8_t* entries;
};

#else

// One by one: without masks, 16 lookups of 16 entries and what puts them together take longer (5.1
// instead of 4.2 ns of 8 columns with AVX2).
struct ByteTable {
  explicit ByteTable(const std::uint8_t* all) : entries(all) {}
  HWY_INLINE CodeVector look_up(CodeVector codes) const {
    HWY_ALIGN std::uint8_t lanes[kCodeLanes];
    const CodeTag d;
    hn::Store(codes, d, lanes);
    for (std::int64_t i = 0; i < kCodeLanes; ++i) lanes[i] = entries[lanes[i]];
    return hn::Load(d, lanes);
  }
  const std::uint8_t* entries;
};

#endif

// Several blocks at a time: a table is loaded once for them, and their sums do not wait for each
// other.
template <int kBlocks>
HWY_INLINE void scan_some(const CodeScanJob& job, std::int64_t first) {
  const CodeTag d;
  const std::int64_t stride = (job.pair_columns + job.byte_columns) * kScanRows;
  const std::uint8_t* codes = job.blocks + first * stride;
  const std::uint8_t* tables = job.tables;
  CodeVector sums[kBlocks][kCodeRegisters];
  for (auto& block : sums) {
    for (CodeVector& sum : block) sum = hn::Zero(d);
  }
  const CodeVector lower_half = hn::Set(d, 15);
  for (int column = 0; column < job.pair_columns; ++column) {
    const CodeVector lower = hn::LoadDup128(d, tables);
    const CodeVector upper = hn::LoadDup128(d, tables + kPairEntries / 2);
    for (int b = 0; b < kBlocks; ++b) {
      for (std::int64_t r = 0; r < kCodeRegisters; ++r) {
        const CodeVector pair = hn::LoadU(d, codes + b * stride + r * kCodeLanes);
        const CodeVector of_lower = hn::TableLookupBytes(lower, hn::And(pair, lower_half));
        const CodeVector of_upper = hn::TableLookupBytes(upper, hn::ShiftRight<4>(pair));
        sums[b][r] = hn::SaturatedAdd(hn::SaturatedAdd(sums[b][r], of_lower), of_upper);
      }
    }
    codes += kScanRows;
    tables += kPairEntries;
  }
  for (int column = 0; column < job.byte_columns; ++column) {
    const ByteTable table(tables);
    for (int b = 0; b < kBlocks; ++b) {
      for (std::int64_t r = 0; r < kCodeRegisters; ++r) {
        const CodeVector code = hn::LoadU(d, codes + b * stride + r * kCodeLanes);
        sums[b][r] = hn::SaturatedAdd(sums[b][r], table.look_up(code));
      }
    }
    codes += kScanRows;
    tables += kByteEntries;
  }
  const CodeVector most = hn::Set(d, job.most);
  for (int b = 0; b < kBlocks; ++b) {
    std::uint8_t bits[kScanRows / 8] = {};
    for (std::int64_t r = 0; r < kCodeRegisters; ++r) {
      const auto near = hn::Eq(hn::Min(sums[b][r], most), sums[b][r]);
      hn::StoreMaskBits(d, near, bits + r * kCodeLanes / 8);
    }
    __builtin_memcpy(job.near + first + b, bits, sizeof(bits));
  }
}

void scan_codes(const CodeScanJob& job) {
  constexpr int kBlocks = 8 / kCodeRegisters;
  std::int64_t block = 0;
  for (; block + kBlocks <= job.count; block += kBlocks) scan_some<kBlocks>(job, block);
  for (; block < job.count; ++block) scan_some<1>(job, block);
}

// Of 16 entries, which fit a register, or two of which the code's highest bit chooses.
template <class D, class Codes>
HWY_INLINE hn::Vec<D> among_16(D d, const float* entries, Codes codes) {
  const hn::RebindToUnsigned<D> words;
  if constexpr (hn::MaxLanes(d) == 16) {
    return hn::TableLookupLanes(hn::LoadU(d, entries), hn::IndicesFromVec(d, codes));
  } else {
    const auto lowest = hn::IndicesFromVec(d, hn::And(codes, hn::Set(words, 7)));
    const auto lower = hn::TableLookupLanes(hn::LoadU(d, entries), lowest);
    const auto upper = hn::TableLookupLanes(hn::LoadU(d, entries + 8), lowest);
    const auto is_upper = hn::TestBit(codes, hn::Set(words, 8));
    return hn::IfThenElse(hn::RebindMask(d, is_upper), upper, lower);
  }
}

void sum_codes(const CodeSumJob& job) {
  const hn::CappedTag<float, kEntries> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  if constexpr (kLanes < kEntries / 2) {
    sum_one_by_one(job);
  } else {
    const hn::RebindToUnsigned<decltype(d)> words;
    const hn::Rebind<std::uint8_t, decltype(d)> bytes;
    for (std::int64_t first = 0; first < kScanRows; first += kLanes) {
      auto sum = hn::Zero(d);
      for (int k = 0; k < job.codebooks; ++k) {
        const std::uint8_t* const pairs = job.block + k / 2 * kScanRows + first;
        const auto pair = hn::PromoteTo(words, hn::LoadU(bytes, pairs));
        const auto code = k % 2 == 0 ? hn::And(pair, hn::Set(words, 15)) : hn::ShiftRight<4>(pair);
        sum = hn::Add(sum, among_16(d, job.tables + k * kEntries, code));
      }
      hn::StoreU(sum, d, job.sums + first);
    }
  }
}

void round_entries_down(const float* values, std::int64_t count, float least, float scale,
                        std::uint8_t* out) {
  const hn::CappedTag<float, 16> d;
  const hn::Rebind<std::int32_t, decltype(d)> integers;
  const hn::Rebind<std::uint8_t, decltype(d)> entries;
  const auto most = hn::Set(d, static_cast<float>(kMostEntry));
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::MaxLanes(d))) {
    const auto above = hn::Sub(hn::LoadU(d, values + i), hn::Set(d, least));
    const auto entry = hn::Min(hn::Mul(above, hn::Set(d, scale)), most);
    hn::StoreU(hn::DemoteTo(entries, hn::ConvertTo(integers, entry)), entries, out + i);
  }
}

#endif

constexpr CodeScanKernels kCodeScan{scan_codes, sum_codes, round_entries_down};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const CodeScanKernels& code_scan_kernels(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kCodeScan;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kCodeScan);
}

}  // namespace nearfield
#endif
