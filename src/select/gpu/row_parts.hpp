// Rows as they are where there are many; else in parts, whose first k are selected from again.
#pragma once

#include <algorithm>

#include "core/checked.hpp"
#include "device/default_choice.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield {

// Blocks that keep a large card busy: 8 on each of some hundred multiprocessors.
inline constexpr std::int64_t kManyBlocks = 1024;
// Of a part, for each of the k: fewer would mostly be sorted, not dropped.
inline constexpr std::int64_t kPartPerK = 64;
inline constexpr std::int64_t kLeastPart = 1 << 14;

// Of a row. What a part finds is selected from again, by one block: so that a single row has no
// more than the rules say.
inline std::int64_t parts_of(const SelectShape& shape) {
  const std::int64_t mergeable = shape.k <= kDefaultChoice.few_k
                                     ? kDefaultChoice.most_parts_of_few
                                     : kDefaultChoice.most_parts_of_many;
  const std::int64_t wanted = std::min(divide_up(kManyBlocks, shape.rows), mergeable);
  const std::int64_t most = shape.cols / std::max(kLeastPart, kPartPerK * shape.k);
  return std::clamp<std::int64_t>(most, 1, wanted);
}

}  // namespace nearfield
