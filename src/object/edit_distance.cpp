#include "object/edit_distance.hpp"

#include <algorithm>
#include <map>

#include "core/checked.hpp"
#include "object/symbols.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kPlacesInAWord = 64;

// Part of a column: see cpu/edit_kernel.cpp.
struct ColumnWord {
  std::uint64_t rises = ~std::uint64_t{0};
  std::uint64_t falls = 0;
};

// `from_above`: by how much the number above the part differs from the column before. Returns the
// same of its last place.
int advance_word(ColumnWord& word, std::uint64_t same, int from_above, int last_place) {
  const std::uint64_t vertical = same | word.falls;
  if (from_above < 0) same |= 1;
  const std::uint64_t horizontal = (((same & word.rises) + word.rises) ^ word.rises) | same;
  std::uint64_t up = word.falls | ~(horizontal | word.rises);
  std::uint64_t down = word.rises & horizontal;
  const int change =
      static_cast<int>(up >> last_place & 1) - static_cast<int>(down >> last_place & 1);
  up = up << 1 | static_cast<std::uint64_t>(from_above > 0);
  down = down << 1 | static_cast<std::uint64_t>(from_above < 0);
  word.rises = down | ~(vertical | up);
  word.falls = up & vertical;
  return change;
}

}  // namespace

EditPattern::EditPattern(std::span<const char32_t> symbols)
    : length_(std::ssize(symbols)),
      words_(std::max<std::int64_t>(divide_up(length_, kPlacesInAWord), 1)) {
  std::copy_if(symbols.begin(), symbols.end(), std::back_inserter(others_),
               [](char32_t symbol) { return symbol >= kAscii; });
  std::sort(others_.begin(), others_.end());
  others_.erase(std::unique(others_.begin(), others_.end()), others_.end());
  // Behind them, those of a symbol that is not there: none.
  places_.resize((kAscii + others_.size() + 1) * static_cast<std::size_t>(words_));
  for (std::int64_t i = 0; i < length_; ++i) {
    auto* const of_symbol =
        const_cast<std::uint64_t*>(places(symbols[static_cast<std::size_t>(i)]));
    of_symbol[i / kPlacesInAWord] |= std::uint64_t{1} << (i % kPlacesInAWord);
  }
}

const std::uint64_t* EditPattern::places(char32_t symbol) const {
  std::size_t at = symbol;
  if (symbol >= kAscii) {
    const auto found = std::lower_bound(others_.begin(), others_.end(), symbol);
    const bool there = found != others_.end() && *found == symbol;
    at = kAscii + static_cast<std::size_t>((there ? found : others_.end()) - others_.begin());
  }
  return places_.data() + at * static_cast<std::size_t>(words_);
}

std::int64_t EditPattern::distance(std::span<const char32_t> text, std::int64_t limit) const {
  if (length_ == 0) return std::ssize(text);
  std::vector<ColumnWord> column(static_cast<std::size_t>(words_));
  std::int64_t distance = length_;
  std::int64_t left = std::ssize(text);
  for (const char32_t symbol : text) {
    const std::uint64_t* const same = places(symbol);
    int change = 1;
    for (std::int64_t word = 0; word < words_; ++word) {
      const std::int64_t last =
          word + 1 < words_ ? kPlacesInAWord - 1 : (length_ - 1) % kPlacesInAWord;
      change = advance_word(column[static_cast<std::size_t>(word)], same[word], change,
                            static_cast<int>(last));
    }
    distance += change;
    --left;
    if (distance - left > limit) return distance - left;
  }
  return distance;
}

std::int64_t damerau_distance(std::span<const char32_t> a, std::span<const char32_t> b) {
  const std::int64_t rows = std::ssize(a);
  const std::int64_t cols = std::ssize(b);
  const std::int64_t never = rows + cols;
  // [row + 1][col + 1]: between the first `row` of a and the first `col` of b; before them a border
  // that is too far for everyone.
  const auto stride = static_cast<std::size_t>(cols + 2);
  std::vector<std::int64_t> table(static_cast<std::size_t>(rows + 2) * stride, never);
  const auto at = [&](std::int64_t row, std::int64_t col) -> std::int64_t& {
    return table[static_cast<std::size_t>(row + 1) * stride + static_cast<std::size_t>(col + 1)];
  };
  for (std::int64_t row = 0; row <= rows; ++row) at(row, 0) = row;
  for (std::int64_t col = 0; col <= cols; ++col) at(0, col) = col;
  std::map<char32_t, std::int64_t> last_row_with;  // of a; 0: none
  for (std::int64_t row = 1; row <= rows; ++row) {
    const char32_t own = a[static_cast<std::size_t>(row - 1)];
    std::int64_t last_same_col = 0;
    for (std::int64_t col = 1; col <= cols; ++col) {
      const char32_t other = b[static_cast<std::size_t>(col - 1)];
      const auto found = last_row_with.find(other);
      const std::int64_t swap_row = found != last_row_with.end() ? found->second : 0;
      const std::int64_t swap_col = last_same_col;
      if (own == other) last_same_col = col;
      const std::int64_t swapped =
          at(swap_row - 1, swap_col - 1) + (row - swap_row - 1) + 1 + (col - swap_col - 1);
      at(row, col) = std::min({at(row - 1, col - 1) + (own == other ? 0 : 1), at(row - 1, col) + 1,
                               at(row, col - 1) + 1, swapped});
    }
    last_row_with[own] = row;
  }
  return at(rows, cols);
}

}  // namespace nearfield
