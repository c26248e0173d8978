#include "object/edit_distance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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

// The last row of a whose symbol is that of a column of b.
struct SameSymbol {
  std::size_t row = 0;     // 0: none
  std::size_t before = 0;  // the number one row and two columns before
};

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

// Lowrance and Wagner's recurrence in the memory of a few rows, as Zhao and Sahni (2019) have it. A
// swap turns x, d symbols, y into y, e symbols, x at the cost of 1 + d + e. Where d and e are both
// 1 or more, replacing in place costs no more: max(d, e) + 2. So one of them is 0, and of an older
// row a swap needs a single number for each column.
std::int64_t damerau_distance(std::span<const char32_t> a, std::span<const char32_t> b) {
  if (a.size() < b.size()) std::swap(a, b);  // either way the same, and rows are as long as b
  // [col]: between the first `col` of b and the first `row` of a, or one fewer, or two.
  std::vector<std::size_t> current(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<SameSymbol> same(b.size() + 1);
  std::iota(current.begin(), current.end(), std::size_t{0});
  for (std::size_t row = 1; row <= a.size(); ++row) {
    std::swap(before_last, last);
    std::swap(last, current);
    current[0] = row;
    const char32_t own = a[row - 1];
    std::size_t own_col = 0;  // the last of b that is `own`; 0: none
    for (std::size_t col = 1; col <= b.size(); ++col) {
      const char32_t other = b[col - 1];
      std::size_t fewest =
          std::min({last[col - 1] + (own == other ? 0 : 1), last[col] + 1, current[col - 1] + 1});
      if (own == other) {
        own_col = col;
        same[col] = {row, col > 1 ? last[col - 2] : 0};
      } else if (own_col > 0 && own_col + 1 == col && same[col].row > 0) {
        fewest = std::min(fewest, same[col].before + (row - same[col].row));
      } else if (own_col > 0 && row > 1 && a[row - 2] == other) {
        fewest = std::min(fewest, before_last[own_col - 1] + (col - own_col));
      }
      current[col] = fewest;
    }
  }
  return static_cast<std::int64_t>(current.back());
}

}  // namespace nearfield
