// How many blocks of threads share the rows of a block, where each keeps the first of its own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "filter/filter.hpp"
#include "select/gpu/row_parts.hpp"

namespace nearfield {

// Of a part: of fewer, most of the time goes into putting the first of them in order.
inline constexpr std::int64_t kLeastPartRows = 1024;

// So many that a large card is busy; of as many rows each that most are dropped. tiles: blocks of
// threads that share the queries. room: of pairs, of which a part finds at most `most_found` a
// query.
inline std::int64_t row_parts_of(const Block& block, std::int64_t tiles, std::int64_t most_found,
                                 std::int64_t room) {
  const std::int64_t most =
      std::min(divide_up(block.rows.size(), kLeastPartRows),
               std::max<std::int64_t>(room / (block.queries.size() * most_found), 1));
  return std::min(divide_up(kManyBlocks, tiles), most);
}

}  // namespace nearfield
