// Text as the symbols that edits change.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/object_metric.hpp>

namespace nearfield {

// Code points of UTF-8. A byte that is part of none is a symbol of its own, 0xDC00 and the byte, so
// that different texts are never the same symbols.
std::vector<char32_t> symbols_of(ObjectView text);

// Symbols below this are a byte each.
inline constexpr char32_t kAscii = 128;
bool is_ascii(ObjectView text);

}  // namespace nearfield
