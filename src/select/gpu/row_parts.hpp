// Rows as they are where there are many; else in parts, whose first k are selected from again.
#pragma once

#include <algorithm>

#include "core/checked.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield {

// Blocks that keep a large card busy: 8 on each of some hundred multiprocessors.
inline constexpr std::int64_t kManyBlocks = 1024;
// Of a part, for each of the k: fewer would mostly be sorted, not dropped.
inline constexpr std::int64_t kPartPerK = 64;
inline constexpr std::int64_t kLeastPart = 1 << 14;

// Of a row.
inline std::int64_t parts_of(const SelectShape& shape) {
  const std::int64_t wanted = divide_up(kManyBlocks, shape.rows);
  const std::int64_t most = shape.cols / std::max(kLeastPart, kPartPerK * shape.k);
  return std::clamp<std::int64_t>(most, 1, wanted);
}

}  // namespace nearfield
