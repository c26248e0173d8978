// Edit distances, of any symbols and any length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nearfield {

// A text that is compared with many: where it has each symbol, as bits of 64-bit words.
class EditPattern {
 public:
  explicit EditPattern(std::span<const char32_t> symbols);

  // Symbols that must be added, dropped or replaced; or if these are more than the limit, a number
  // above it.
  std::int64_t distance(std::span<const char32_t> text, std::int64_t limit) const;

 private:
  // Of one symbol `words_` words.
  const std::uint64_t* places(char32_t symbol) const;

  std::int64_t length_;
  std::int64_t words_;
  std::vector<char32_t> others_;  // symbols beyond ASCII, sorted
  std::vector<std::uint64_t> places_;
};

// The same, and swapping two symbols that stand together is one edit, whatever is edited between
// them afterwards: Damerau's distance in the form of Lowrance and Wagner. (That in which nothing
// may be edited twice, optimal string alignment, is no metric.)
std::int64_t damerau_distance(std::span<const char32_t> a, std::span<const char32_t> b);

}  // namespace nearfield
