// Texts and the textbook's distances between them, for tests of indexes of objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.hpp"

namespace nearfield::test {

// Code points of a text that is UTF-8.
std::u32string code_points(std::string_view text);

// The whole table, from its first row to its last.
std::int64_t textbook_edit(std::string_view a, std::string_view b);

// By breadth-first search over texts of these letters: what the definition says, with swaps.
std::int64_t fewest_edits_with_swaps(const std::string& a, const std::string& b,
                                     std::string_view letters);

// Up to so many symbols, few of which are different, some beyond ASCII.
std::string some_text(Random& random, std::int64_t most);

}  // namespace nearfield::test
