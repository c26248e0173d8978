// When an index copies and packs what it holds.
#pragma once

#include <cstdint>

namespace nearfield {

struct IndexTuning {
  // A part in memory that is full grows by a copy up to this many bytes, so that there is one to
  // search; larger ones are left, and another begins.
  std::int64_t most_copied_bytes = std::int64_t{256} << 20;
  std::int64_t least_part_bytes = 64 << 10;
  // Fewer rows are searched as fast as they are: it is mostly what a search costs to begin.
  std::int64_t least_packed_rows = 2048;
};

// What an index uses. Tests change it while there is none.
inline IndexTuning& index_tuning() {
  static IndexTuning tuning;
  return tuning;
}

}  // namespace nearfield
