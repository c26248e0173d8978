// Edit distances against the textbook's table, on every ISA, around the sizes of words and kernels.
#include "object/edit_distance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nearfield/isa.hpp>
#include <nearfield/object_metrics.hpp>

#include "core/infinity.hpp"
#include "core/random.hpp"
#include "object/symbols.hpp"
#include "tests/oracle/texts.hpp"

namespace nearfield {
namespace {

using test::textbook_edit;

std::vector<ObjectView> views_of(const std::vector<std::string>& texts) {
  std::vector<ObjectView> views;
  for (const std::string& text : texts) views.push_back(ObjectBytes<std::string>::bytes(text));
  return views;
}

std::vector<double> edits(const std::string& from, const std::vector<std::string>& to, double limit,
                          Isa isa) {
  std::vector<double> distances(to.size());
  EditDistance::compiled()->distances(ObjectBytes<std::string>::bytes(from), views_of(to), limit,
                                      isa, distances);
  return distances;
}

// Of one letter or two, whose distances are never far apart.
std::string long_text(Random& random, std::int64_t size) {
  std::string text;
  for (std::int64_t i = 0; i < size; ++i) text += random.below(4) == 0 ? 'b' : 'a';
  return text;
}

TEST(EditDistance, IsTheTextbooks) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    const std::string from = test::some_text(random, round % 2 == 0 ? 9 : 80);
    std::vector<std::string> to;
    for (int i = 0; i < 37; ++i) to.push_back(test::some_text(random, i % 5 == 0 ? 90 : 12));
    to.push_back(from);
    to.emplace_back();
    for (const Isa isa : available_isas()) {
      const std::vector<double> got = edits(from, to, kInfinity, isa);
      for (std::size_t i = 0; i < to.size(); ++i) {
        ASSERT_EQ(got[i], static_cast<double>(textbook_edit(from, to[i])))
            << to_string(isa) << " '" << from << "' '" << to[i] << "'";
      }
    }
  }
}

TEST(EditDistance, OfLengthsAroundAWord) {
  Random random(2);
  for (const std::int64_t length : {0, 1, 63, 64, 65, 127, 128, 129, 200, 600, 5000}) {
    const std::string from = long_text(random, length);
    std::vector<std::string> to;
    for (const std::int64_t other : {0, 1, 2, 62, 63, 64, 65, 66, 128, 130}) {
      to.push_back(long_text(random, other));
    }
    for (const Isa isa : available_isas()) {
      const std::vector<double> got = edits(from, to, kInfinity, isa);
      for (std::size_t i = 0; i < to.size(); ++i) {
        ASSERT_EQ(got[i], static_cast<double>(textbook_edit(from, to[i])))
            << to_string(isa) << " " << length << " and " << to[i].size();
      }
    }
  }
}

// Of every letter of ASCII, and around the numbers of bits that kernels have for a text, of letters
// that they read at once and of texts that they take at once.
TEST(EditDistance, OfAllLettersAndManyTexts) {
  Random random(5);
  const auto text_of = [&](std::int64_t size) {
    std::string text;
    for (std::int64_t i = 0; i < size; ++i) text += static_cast<char>(random.below(128));
    return text;
  };
  for (const std::int64_t length : {1, 2, 8, 15, 16, 17, 31, 32, 33, 63, 64}) {
    const std::string from = text_of(length);
    std::vector<std::string> to;
    for (std::int64_t i = 0; i < 300; ++i) {
      std::string text = i % 3 == 0 ? text_of(random.below(66)) : from;
      for (std::int64_t edit = i % 7; edit > 0 && !text.empty(); --edit) {
        text[static_cast<std::size_t>(random.below(std::ssize(text)))] =
            static_cast<char>(random.below(128));
        text.erase(static_cast<std::size_t>(random.below(std::ssize(text))),
                   static_cast<std::size_t>(edit % 2));
      }
      to.push_back(text);
    }
    for (const Isa isa : available_isas()) {
      const std::vector<double> got = edits(from, to, kInfinity, isa);
      for (std::size_t i = 0; i < to.size(); ++i) {
        ASSERT_EQ(got[i], static_cast<double>(textbook_edit(from, to[i])))
            << to_string(isa) << " " << length << ", text " << i << " of " << to[i].size();
      }
    }
  }
}

// Up to the limit the distance, beyond it anything beyond it.
TEST(EditDistance, MayGiveUpAboveTheLimitOnly) {
  Random random(3);
  for (int round = 0; round < 30; ++round) {
    const std::string from = test::some_text(random, 40);
    std::vector<std::string> to;
    for (int i = 0; i < 20; ++i) to.push_back(test::some_text(random, 40));
    to.push_back(from);
    for (const double limit : {-1.0, 0.0, 1.0, 2.5, 7.0, 30.0}) {
      for (const Isa isa : available_isas()) {
        const std::vector<double> got = edits(from, to, limit, isa);
        for (std::size_t i = 0; i < to.size(); ++i) {
          const auto want = static_cast<double>(textbook_edit(from, to[i]));
          ASSERT_TRUE(want <= limit ? got[i] == want : got[i] > limit)
              << to_string(isa) << " limit " << limit << ": " << got[i] << ", not " << want;
        }
      }
    }
  }
}

TEST(EditDistance, CountsCodePointsAndOddBytes) {
  const EditDistance edit;
  EXPECT_EQ(edit("caf\u00e9", "cafe"), 1);
  EXPECT_EQ(edit("\u5b57", ""), 1);
  EXPECT_EQ(edit("\xff\xfe", "\xff"), 1);          // bytes that are no UTF-8
  EXPECT_EQ(edit("\xc3", "\xc3\xa9"), 1);          // cut off
  EXPECT_EQ(edit("\xc0\x80", ""), 2);              // overlong
  EXPECT_EQ(edit("\xed\xa0\x80", ""), 3);          // a surrogate
  EXPECT_EQ(edit("\xf4\x90\x80\x80", "abcd"), 4);  // beyond the last
  EXPECT_EQ(edit("\xf0\x9f\x99\x82", "ab"), 2);
}

TEST(DamerauDistance, IsFewestEditsWithSwaps) {
  Random random(4);
  constexpr std::string_view kLetters = "abc";
  const DamerauDistance damerau;
  for (int round = 0; round < 150; ++round) {
    std::string a;
    std::string b;
    for (std::int64_t i = random.below(5); i > 0; --i) {
      a += kLetters[static_cast<std::size_t>(random.below(3))];
    }
    for (std::int64_t i = random.below(5); i > 0; --i) {
      b += kLetters[static_cast<std::size_t>(random.below(3))];
    }
    ASSERT_EQ(damerau(a, b), static_cast<double>(test::fewest_edits_with_swaps(a, b, kLetters)))
        << a << " " << b;
  }
  EXPECT_EQ(damerau("ca", "abc"), 2);  // 3 where nothing may be edited twice
}

// Lowrance and Wagner's table, all of it.
std::int64_t damerau_by_table(std::string_view a, std::string_view b) {
  const std::size_t stride = b.size() + 2;
  const std::size_t never = a.size() + b.size();
  std::vector<std::size_t> table((a.size() + 2) * stride, never);
  const auto at = [&](std::size_t row, std::size_t col) -> std::size_t& {
    return table[row * stride + col];  // one beyond the numbers of symbols
  };
  for (std::size_t row = 0; row <= a.size(); ++row) at(row + 1, 1) = row;
  for (std::size_t col = 0; col <= b.size(); ++col) at(1, col + 1) = col;
  std::array<std::size_t, 256> last_row{};
  for (std::size_t row = 1; row <= a.size(); ++row) {
    std::size_t last_col = 0;
    for (std::size_t col = 1; col <= b.size(); ++col) {
      const std::size_t swap_row = last_row[static_cast<unsigned char>(b[col - 1])];
      const std::size_t swap_col = last_col;
      const bool same = a[row - 1] == b[col - 1];
      if (same) last_col = col;
      at(row + 1, col + 1) =
          std::min({at(row, col) + (same ? 0 : 1), at(row, col + 1) + 1, at(row + 1, col) + 1,
                    at(swap_row, swap_col) + (row - swap_row) + (col - swap_col) - 1});
    }
    last_row[static_cast<unsigned char>(a[row - 1])] = row;
  }
  return static_cast<std::int64_t>(at(a.size() + 1, b.size() + 1));
}

// Of few letters and of many; `edits` of them anywhere, swaps among them.
std::string edited(Random& random, std::string text, std::int64_t edits) {
  for (; edits > 0 && text.size() > 1; --edits) {
    const auto at = static_cast<std::size_t>(random.below(std::ssize(text) - 1));
    switch (random.below(4)) {
      case 0:
        text.erase(at, 1);
        break;
      case 1:
        text.insert(at, 1, 'a');
        break;
      default:
        std::swap(text[at], text[at + 1]);
    }
  }
  return text;
}

TEST(DamerauDistance, IsThatOfTheWholeTable) {
  Random random(6);
  const DamerauDistance damerau;
  const auto text_of = [&](std::int64_t size, std::int64_t letters) {
    std::string text;
    for (std::int64_t i = 0; i < size; ++i) text += static_cast<char>('a' + random.below(letters));
    return text;
  };
  const auto expect_same = [&](const std::string& a, const std::string& b) {
    ASSERT_EQ(damerau(a, b), static_cast<double>(damerau_by_table(a, b))) << a << " " << b;
    ASSERT_EQ(damerau(b, a), damerau(a, b)) << a << " " << b;
  };
  for (int round = 0; round < 2'000; ++round) {
    const std::string a = text_of(random.below(20), 2 + round % 5);
    expect_same(a, text_of(random.below(20), 2 + round % 5));
    expect_same(a, edited(random, a, random.below(8)));
  }
  for (const std::int64_t size : {300, 1'500}) {
    const std::string a = text_of(size, 20);
    expect_same(a, edited(random, a, size / 10));
    expect_same(a, text_of(size / 2, 20));
  }
}

// Of symbols that are all different, each pair that is swapped is an edit. A table of all cells
// would take 290 MB.
TEST(DamerauDistance, OfLongTexts) {
  std::vector<char32_t> a(6'000);
  std::iota(a.begin(), a.end(), U'\u4e00');
  std::vector<char32_t> b = a;
  for (std::size_t i = 0; i + 1 < b.size(); i += 20) std::swap(b[i], b[i + 1]);
  EXPECT_EQ(damerau_distance(a, b), 300);
  b.insert(b.begin() + 1, U'a');  // between the two of the first pair
  EXPECT_EQ(damerau_distance(a, b), 301);
  b.clear();
  EXPECT_EQ(damerau_distance(a, b), 6'000);
}

}  // namespace
}  // namespace nearfield
