// Edit distances of one text to many, several at a time, for each ISA.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <nearfield/isa.hpp>
#include <nearfield/object_metric.hpp>

namespace nearfield {

// Of the text that is compared and of the others: longer ones take other ways.
inline constexpr std::int64_t kMostKernelText = 64;

// Short texts of ASCII, in pieces of 16 letters: first the first pieces of all, then the second and
// so on. What lies behind the end of a text does not matter.
class PackedTexts {
 public:
  static constexpr std::int64_t kMost = 64;
  static constexpr std::int64_t kPiece = 16;

  std::int64_t count() const { return count_; }
  std::uint8_t size(std::int64_t text) const { return sizes_[static_cast<std::size_t>(text)]; }
  // Of all texts; those behind each other begin kPiece apart.
  const std::uint8_t* pieces(std::int64_t number) const {
    return letters_.data() + number * kMost * kPiece;
  }

  // False where it is not all ASCII: then it is not added. Has at most kMostKernelText bytes.
  bool add(ObjectView text);
  void clear() { count_ = 0; }

 private:
  std::int64_t count_ = 0;
  std::array<std::uint8_t, kMost> sizes_{};
  alignas(64) std::array<std::uint8_t, kMost * kMostKernelText> letters_{};
};

struct EditJob {
  std::span<const char32_t> pattern;  // the text that is compared: 1 to kMostKernelText symbols
  const PackedTexts& texts;
  double limit;
  std::uint8_t* distances;  // or values above the limit; room for PackedTexts::kMost
};

struct EditKernels {
  void (*distances)(const EditJob& job);
};

// Of an ISA that is available here.
const EditKernels& edit_kernels(Isa isa);

}  // namespace nearfield
