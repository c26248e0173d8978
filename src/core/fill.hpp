// Large results, filled without keeping a cancelled call waiting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/monitor.hpp"

namespace nearfield {

// Filled between two looks at the cancel token: a few milliseconds.
inline constexpr std::int64_t kValuesPerFill = 1 << 20;

// std::vector::assign in pieces: touching fresh memory takes half a second a gigabyte.
template <class T>
void fill(std::vector<T>& out, std::int64_t count, T value, const Monitor& monitor) {
  out.reserve(static_cast<std::size_t>(count));
  for (std::int64_t done = 0; done < count; done += kValuesPerFill) {
    monitor.check();
    const auto piece = static_cast<std::size_t>(std::min(kValuesPerFill, count - done));
    out.insert(out.end(), piece, value);
  }
}

}  // namespace nearfield
