#include "tests/oracle/texts.hpp"

#include <algorithm>
#include <set>

namespace nearfield::test {

std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t point = bytes == 1 ? lead : lead & (0x7FU >> bytes);
    for (std::size_t j = 1; j < bytes; ++j) {
      point = point * 64 + (static_cast<unsigned char>(text[i + j]) & 0x3FU);
    }
    points.push_back(point);
    i += bytes;
  }
  return points;
}

std::int64_t textbook_edit(std::string_view a, std::string_view b) {
  const std::u32string first = code_points(a);
  const std::u32string second = code_points(b);
  std::vector<std::vector<std::int64_t>> table(first.size() + 1,
                                               std::vector<std::int64_t>(second.size() + 1));
  for (std::size_t i = 0; i <= first.size(); ++i) {
    for (std::size_t j = 0; j <= second.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = static_cast<std::int64_t>(i + j);
        continue;
      }
      const std::int64_t replaced = table[i - 1][j - 1] + (first[i - 1] != second[j - 1]);
      table[i][j] = std::min({replaced, table[i - 1][j] + 1, table[i][j - 1] + 1});
    }
  }
  return table[first.size()][second.size()];
}

std::int64_t fewest_edits_with_swaps(const std::string& a, const std::string& b,
                                     std::string_view letters) {
  std::set<std::string> seen{a};
  std::vector<std::string> reached{a};
  // Longer texts than both by two are no way to go.
  const std::size_t longest = std::max(a.size(), b.size()) + 2;
  for (std::int64_t edits = 0;; ++edits) {
    if (seen.contains(b)) return edits;
    std::vector<std::string> next;
    const auto visit = [&](const std::string& text) {
      if (text.size() <= longest && seen.insert(text).second) next.push_back(text);
    };
    for (const std::string& text : reached) {
      for (std::size_t i = 0; i <= text.size(); ++i) {
        for (const char letter : letters) {
          visit(std::string(text).insert(i, 1, letter));
          if (i < text.size()) visit(std::string(text).replace(i, 1, 1, letter));
        }
        if (i < text.size()) visit(std::string(text).erase(i, 1));
        if (i + 1 < text.size()) {
          std::string swapped = text;
          std::swap(swapped[i], swapped[i + 1]);
          visit(swapped);
        }
      }
    }
    reached = next;
  }
}

std::string some_text(Random& random, std::int64_t most) {
  static const std::vector<std::string> symbols{"a", "b", "c", "A", " ", "é", "字", "🙂"};
  std::string text;
  const std::int64_t count = random.below(most + 1);
  const std::int64_t kinds = random.below(4) == 0 ? std::ssize(symbols) : 4;
  for (std::int64_t i = 0; i < count; ++i) {
    text += symbols[static_cast<std::size_t>(random.below(kinds))];
  }
  return text;
}

}  // namespace nearfield::test
