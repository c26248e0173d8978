// The kernels of edit_kernel.hpp, once for every ISA.
//
// A column of the table of edits is kept as differences from place to place, a bit each (G. Myers,
// A fast bit-vector algorithm for approximate string matching based on dynamic programming, J. ACM
// 46, 1999; H. Hyyro's form for distances). A lane has no more bits than the pattern needs: of
// words, 16, so that a register of AVX-512 has the columns of 32 texts.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "object/cpu/edit_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/targets.h"
#include "object/edit_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Distances are whole, and at most the length of the longer text.
HWY_INLINE std::int64_t whole_edit_limit(double limit) {
  if (limit >= static_cast<double>(kMostKernelText)) return kMostKernelText;
  return limit < 0 ? -1 : static_cast<std::int64_t>(limit);
}

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE std::uint8_t edits_of_one(const std::uint64_t* places, std::int64_t length,
                                     const PackedTexts& texts, std::int64_t text) {
  std::uint64_t rises = ~std::uint64_t{0};
  std::uint64_t falls = 0;
  const std::int64_t size = texts.size(text);
  for (std::int64_t i = 0; i < size; ++i) {
    constexpr std::int64_t kPieceLetters = PackedTexts::kPiece;
    const std::uint64_t same =
        places[texts.pieces(i / kPieceLetters)[text * kPieceLetters + i % kPieceLetters]];
    const std::uint64_t vertical = same | falls;
    const std::uint64_t horizontal = (((same & rises) + rises) ^ rises) | same;
    const std::uint64_t up = (falls | ~(horizontal | rises)) << 1 | 1;
    const std::uint64_t down = (rises & horizontal) << 1;
    rises = down | ~(vertical | up);
    falls = up & vertical;
  }
  const std::uint64_t all = ~std::uint64_t{0} >> (kMostKernelText - length);
  return static_cast<std::uint8_t>(size + static_cast<std::int64_t>(hwy::PopCount(rises & all)) -
                                   static_cast<std::int64_t>(hwy::PopCount(falls & all)));
}

void edit_distances(const EditJob& job) {
  std::uint64_t places[128] = {};
  const auto length = static_cast<std::int64_t>(job.pattern.size());
  for (std::int64_t i = 0; i < length; ++i) {
    const char32_t letter = job.pattern[static_cast<std::size_t>(i)];
    if (letter < 128) places[letter] |= std::uint64_t{1} << i;
  }
  for (std::int64_t text = 0; text < job.texts.count(); ++text) {
    job.distances[text] = edits_of_one(places, length, job.texts, text);
  }
}

#else

using TextTag = hn::CappedTag<std::uint8_t, 64>;
using TextBytes = hn::Vec<TextTag>;
constexpr auto kTextLanes = static_cast<std::int64_t>(hn::MaxLanes(TextTag()));
constexpr std::int64_t kPieceLetters = PackedTexts::kPiece;

template <class Bits>
using PlaceTag = hn::Repartition<Bits, TextTag>;
template <class Bits>
using Places = hn::Vec<PlaceTag<Bits> >;
template <class Bits>
constexpr auto kPlaceLanes = static_cast<std::int64_t>(hn::MaxLanes(PlaceTag<Bits>()));
// Registers of lanes that one register of letters becomes.
template <class Bits>
constexpr int kPlaceParts = sizeof(Bits);

// Where the pattern has each letter: of 16 letters that differ in their last four bits only, a
// table for each byte of places. Words are in two such rows of ASCII, a to o and p to z.
template <class Bits>
struct LetterPlaces {
  int rows = 0;
  std::uint8_t first_letters[8];
  HWY_ALIGN std::uint8_t bytes[8][kPlaceParts<Bits>][16] = {};
};

template <class Bits>
HWY_INLINE void put_places(const EditJob& job, LetterPlaces<Bits>& out) {
  for (std::size_t i = 0; i < job.pattern.size(); ++i) {
    const char32_t letter = job.pattern[i];
    if (letter >= 128) continue;
    const auto first = static_cast<std::uint8_t>(letter & 0x70);
    int row = 0;
    while (row < out.rows && out.first_letters[row] != first) ++row;
    if (row == out.rows) out.first_letters[out.rows++] = first;
    out.bytes[row][i / 8][letter % 16] |= static_cast<std::uint8_t>(1 << i % 8);
  }
}

// Bytes of lanes, the lowest of all first, to lanes. Texts then lie in another order, which is the
// same for all that is made so.
template <class Bits>
HWY_INLINE void join_bytes(const TextBytes* bytes, Places<Bits>* out) {
  if constexpr (sizeof(Bits) == 1) {
    out[0] = bytes[0];
  } else {
    using Half = hwy::MakeNarrow<Bits>;
    const PlaceTag<Half> d;
    const PlaceTag<Bits> places;
    Places<Half> low[kPlaceParts<Half>];
    Places<Half> high[kPlaceParts<Half>];
    join_bytes<Half>(bytes, low);
    join_bytes<Half>(bytes + kPlaceParts<Half>, high);
    for (int i = 0; i < kPlaceParts<Half>; ++i) {
      out[2 * i] = hn::BitCast(places, hn::InterleaveLower(d, low[i], high[i]));
      out[2 * i + 1] = hn::BitCast(places, hn::InterleaveUpper(d, low[i], high[i]));
    }
  }
}

// Numbers below 256 to lanes.
template <class Bits>
HWY_INLINE void widen(const std::uint8_t* numbers, Places<Bits>* out) {
  const TextTag d;
  TextBytes bytes[kPlaceParts<Bits>];
  bytes[0] = hn::Load(d, numbers);
  for (int i = 1; i < kPlaceParts<Bits>; ++i) bytes[i] = hn::Zero(d);
  join_bytes<Bits>(bytes, out);
}

// Of each text, where the pattern has its letter.
template <class Bits>
HWY_INLINE void look_up(const LetterPlaces<Bits>& places, TextBytes letters, Places<Bits>* out) {
  const TextTag d;
  TextBytes bytes[kPlaceParts<Bits>];
  for (int i = 0; i < kPlaceParts<Bits>; ++i) bytes[i] = hn::Zero(d);
  for (int row = 0; row < places.rows; ++row) {
    // TextBytes of this row become 112 to 127, all others 128 or more, for which a lookup says 0.
    const TextBytes within = hn::Sub(letters, hn::Set(d, places.first_letters[row]));
    const TextBytes entry =
        hn::And(hn::SaturatedAdd(within, hn::Set(d, 112)), hn::Set(d, 128 + 15));
    for (int i = 0; i < kPlaceParts<Bits>; ++i) {
      const TextBytes table = hn::LoadDup128(d, places.bytes[row][i]);
      bytes[i] = hn::Or(bytes[i], hn::TableLookupBytesOr0(table, entry));
    }
  }
  join_bytes<Bits>(bytes, out);
}

// 16 registers of texts' pieces, to their first letters, their second letters and so on. A stage
// moves a bit of a letter's number from its place in a register to the number of the register, and
// one of the text's number the other way. Text t of the registers is then at text_lane(t).
HWY_INLINE void turn_pieces(const std::uint8_t* pieces, std::uint8_t* columns) {
  const TextTag d;
  TextBytes from[kPieceLetters];
  TextBytes to[kPieceLetters];
  for (std::int64_t i = 0; i < kPieceLetters; ++i) from[i] = hn::Load(d, pieces + i * kTextLanes);
  for (int stage = 0; stage < 4; ++stage) {
    for (std::int64_t i = 0; i < kPieceLetters / 2; ++i) {
      to[2 * i] = hn::InterleaveLower(d, from[i], from[i + kPieceLetters / 2]);
      to[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + kPieceLetters / 2]);
    }
    for (std::int64_t i = 0; i < kPieceLetters; ++i) from[i] = to[i];
  }
  for (std::int64_t i = 0; i < kPieceLetters; ++i) hn::Store(from[i], d, columns + i * kTextLanes);
}
constexpr std::int64_t text_lane(std::int64_t text) {
  constexpr std::int64_t kBlocks = kTextLanes / kPieceLetters;
  return text % kBlocks * kPieceLetters + text / kBlocks;
}

template <class Bits>
struct EditColumn {
  // Written out: one that the compiler makes is not of the kernel's target, and g++ for AArch64
  // then refuses what it calls.
  HWY_INLINE EditColumn()
      : rises(hn::Set(PlaceTag<Bits>(), static_cast<Bits>(~Bits{0}))),
        falls(hn::Zero(PlaceTag<Bits>())) {}

  Places<Bits> rises;
  Places<Bits> falls;
};

// Texts that have ended stay as they are.
template <class Bits>
HWY_INLINE void advance(EditColumn<Bits>& column, Places<Bits> same, Places<Bits> sizes,
                        std::int64_t letter) {
  const PlaceTag<Bits> d;
  const hn::RebindToSigned<PlaceTag<Bits> > numbers;
  const auto vertical = hn::Or(same, column.falls);
  const auto carried = hn::Add(hn::And(same, column.rises), column.rises);
  const auto horizontal = hn::Or(hn::Xor(carried, column.rises), same);
  auto up = hn::Or(column.falls, hn::Not(hn::Or(horizontal, column.rises)));
  auto down = hn::And(column.rises, horizontal);
  up = hn::Or(hn::Add(up, up), hn::Set(d, 1));
  down = hn::Add(down, down);
  const auto goes_on = hn::RebindMask(
      d, hn::Gt(hn::BitCast(numbers, sizes),
                hn::Set(numbers, static_cast<hn::TFromD<decltype(numbers)> >(letter))));
  column.rises = hn::IfThenElse(goes_on, hn::Or(down, hn::Not(hn::Or(vertical, up))), column.rises);
  column.falls = hn::IfThenElse(goes_on, hn::And(up, vertical), column.falls);
}

// The number at the column's end, after so many letters.
template <class Bits>
HWY_INLINE Places<Bits> column_end(const EditColumn<Bits>& column, Places<Bits> letters,
                                   Places<Bits> all) {
  return hn::Sub(hn::Add(letters, hn::PopulationCount(hn::And(column.rises, all))),
                 hn::PopulationCount(hn::And(column.falls, all)));
}

// kTextLanes of them, from `first` on.
template <class Bits>
class SomeEdits {
 public:
  HWY_INLINE SomeEdits(const EditJob& job, std::int64_t first)
      : job_(job), first_(first), limit_(whole_edit_limit(job.limit)) {}

  HWY_INLINE void run(const LetterPlaces<Bits>& places) {
    HWY_ALIGN std::uint8_t sizes[kTextLanes] = {};
    std::int64_t longest = 0;
    const std::int64_t count = HWY_MIN(kTextLanes, job_.texts.count() - first_);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint8_t size = job_.texts.size(first_ + i);
      sizes[text_lane(i)] = size;
      longest = HWY_MAX(longest, size);
    }
    Places<Bits> widths[kPlaceParts<Bits>];
    widen<Bits>(sizes, widths);
    EditColumn<Bits> columns[kPlaceParts<Bits>];
    for (std::int64_t done = 0; done < longest; done += kPieceLetters) {
      if (done > 0 && all_too_far(columns, widths, done)) {
        for (std::int64_t i = 0; i < count; ++i) {
          job_.distances[first_ + i] = static_cast<std::uint8_t>(limit_ + 1);
        }
        return;
      }
      HWY_ALIGN std::uint8_t letters[kPieceLetters * kTextLanes];
      turn_pieces(job_.texts.pieces(done / kPieceLetters) + first_ * kPieceLetters, letters);
      const std::int64_t end = HWY_MIN(longest, done + kPieceLetters);
      for (std::int64_t letter = done; letter < end; ++letter) {
        Places<Bits> same[kPlaceParts<Bits>];
        look_up(places, hn::Load(TextTag(), letters + (letter - done) * kTextLanes), same);
        for (int i = 0; i < kPlaceParts<Bits>; ++i) advance(columns[i], same[i], widths[i], letter);
      }
    }
    write(columns, widths, count);
  }

 private:
  HWY_INLINE Places<Bits> all_places() const {
    constexpr std::size_t kBits = 8 * sizeof(Bits);
    return hn::Set(PlaceTag<Bits>(),
                   static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> (kBits - job_.pattern.size())));
  }

  // TextBytes that are left lower a distance by 1 each at most.
  HWY_INLINE bool all_too_far(const EditColumn<Bits>* columns, const Places<Bits>* widths,
                              std::int64_t done) const {
    const hn::RebindToSigned<PlaceTag<Bits> > d;
    const auto limit = hn::Set(d, static_cast<hn::TFromD<decltype(d)> >(limit_));
    const auto most = hn::Set(PlaceTag<Bits>(), static_cast<Bits>(done));
    for (int i = 0; i < kPlaceParts<Bits>; ++i) {
      const auto read = hn::Min(hn::BitCast(d, widths[i]), hn::BitCast(d, most));
      const auto left = hn::Sub(hn::BitCast(d, widths[i]), read);
      const auto end =
          hn::BitCast(d, column_end(columns[i], hn::BitCast(PlaceTag<Bits>(), read), all_places()));
      if (!hn::AllTrue(d, hn::Gt(hn::Sub(end, left), limit))) return false;
    }
    return true;
  }

  HWY_INLINE void write(const EditColumn<Bits>* columns, const Places<Bits>* widths,
                        std::int64_t count) const {
    const PlaceTag<Bits> d;
    HWY_ALIGN std::uint8_t numbers[kTextLanes];
    for (std::int64_t i = 0; i < kTextLanes; ++i)
      numbers[text_lane(i)] = static_cast<std::uint8_t>(i);
    Places<Bits> of_lanes[kPlaceParts<Bits>];
    widen<Bits>(numbers, of_lanes);
    HWY_ALIGN Bits texts[kPlaceLanes<Bits>];
    HWY_ALIGN Bits distances[kPlaceLanes<Bits>];
    for (int i = 0; i < kPlaceParts<Bits>; ++i) {
      hn::Store(of_lanes[i], d, texts);
      hn::Store(column_end(columns[i], widths[i], all_places()), d, distances);
      for (std::int64_t lane = 0; lane < kPlaceLanes<Bits>; ++lane) {
        if (static_cast<std::int64_t>(texts[lane]) >= count) continue;
        job_.distances[first_ + static_cast<std::int64_t>(texts[lane])] =
            static_cast<std::uint8_t>(distances[lane]);
      }
    }
  }

  const EditJob& job_;
  const std::int64_t first_;
  const std::int64_t limit_;
};

template <class Bits>
HWY_INLINE void edits_of_all(const EditJob& job) {
  LetterPlaces<Bits> places;
  put_places(job, places);
  for (std::int64_t first = 0; first < job.texts.count(); first += kTextLanes) {
    SomeEdits<Bits>(job, first).run(places);
  }
}

void edit_distances(const EditJob& job) {
  if (job.pattern.size() <= 16) {
    edits_of_all<std::uint16_t>(job);
  } else if (job.pattern.size() <= 32) {
    edits_of_all<std::uint32_t>(job);
  } else {
    edits_of_all<std::uint64_t>(job);
  }
}

#endif

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
