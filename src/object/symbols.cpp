#include "object/symbols.hpp"

#include <cstring>

namespace nearfield {
namespace {

constexpr char32_t kOddByte = 0xDC00;

struct Sequence {
  char32_t symbol;
  std::size_t bytes;
};

// The sequence that a text begins with. Overlong ones, surrogates and what is beyond 0x10FFFF are
// none.
Sequence first_sequence(ObjectView text) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(text[i]); };
  const char32_t lead = byte(0);
  const Sequence odd{kOddByte + lead, 1};
  if (lead < kAscii) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return odd;
  char32_t symbol = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return odd;
    symbol = symbol << 6 | (byte(i) & 0x3FU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (symbol < kLeast[bytes] || symbol > 0x10FFFF || (symbol >= 0xD800 && symbol < 0xE000)) {
    return odd;
  }
  return {symbol, bytes};
}

}  // namespace

std::vector<char32_t> symbols_of(ObjectView text) {
  std::vector<char32_t> symbols;
  symbols.reserve(text.size());
  while (!text.empty()) {
    const Sequence next = first_sequence(text);
    symbols.push_back(next.symbol);
    text = text.subspan(next.bytes);
  }
  return symbols;
}

bool is_ascii(ObjectView text) {
  // Eight bytes at a time: words are shorter than what vector registers are for.
  constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
  std::uint64_t any = 0;
  for (; text.size() >= kWordBytes; text = text.subspan(kWordBytes)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), kWordBytes);
    any |= word;
  }
  for (const std::byte byte : text) any |= static_cast<std::uint64_t>(byte);
  constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080;
  return (any & kHighBits) == 0;
}

}  // namespace nearfield
