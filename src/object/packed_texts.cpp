#include <cstring>

#include "object/edit_kernel.hpp"

namespace nearfield {
namespace {

// Copies `count` bytes, from one Word to two, by two copies that may overlap: a copy of any size is
// a call. Returns all of their bits.
template <class Word>
std::uint64_t copy_ends(const std::byte* from, std::size_t count, std::uint8_t* to) {
  Word first = 0;
  Word last = 0;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + count - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + count - sizeof last, &last, sizeof last);
  return static_cast<std::uint64_t>(first | last);
}

// Of up to 16 bytes.
std::uint64_t copy_piece(const std::byte* from, std::size_t count, std::uint8_t* to) {
  if (count >= sizeof(std::uint64_t)) return copy_ends<std::uint64_t>(from, count, to);
  if (count >= sizeof(std::uint32_t)) return copy_ends<std::uint32_t>(from, count, to);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = static_cast<std::uint8_t>(from[i]);
    all |= to[i];
  }
  return all;
}

}  // namespace

bool PackedTexts::add(ObjectView text) {
  constexpr auto kPieceBytes = static_cast<std::size_t>(kPiece);
  std::uint8_t* to = letters_.data() + count_ * kPiece;
  std::uint64_t all = 0;
  std::size_t done = 0;
  for (; text.size() - done > kPieceBytes; done += kPieceBytes, to += kMost * kPiece) {
    all |= copy_piece(text.data() + done, kPieceBytes, to);
  }
  all |= copy_piece(text.data() + done, text.size() - done, to);
  constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080;
  if ((all & kHighBits) != 0) return false;
  sizes_[static_cast<std::size_t>(count_++)] = static_cast<std::uint8_t>(text.size());
  return true;
}

}  // namespace nearfield
