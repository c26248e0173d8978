// Rows scored by the buckets that hold them, all tables and several queries at once, and those that
// reach a threshold listed. A score is a byte, four of them a word: integers, whose sum is the same
// in whatever order threads add, and the host sees to it that none is above 255.
#include "distance/gpu/pair_list.h"

namespace nearfield::device {

// Some rows of one bucket: where they begin in `lists`, how many with their weight in the lowest
// byte, and the query.
constexpr u32 kPieceWords = 3;

}  // namespace nearfield::device

// A block adds a piece. Rows are those from `first` on; others are counted in `wrong`.
NEARFIELD_KERNEL add_weights(NEARFIELD_GLOBAL const nearfield::u32* lists,
                             NEARFIELD_GLOBAL const nearfield::u32* pieces, nearfield::u32 first,
                             nearfield::u32 rows, nearfield::u32 words_of_a_query,
                             NEARFIELD_GLOBAL nearfield::u32* scores,
                             NEARFIELD_GLOBAL nearfield::u32* wrong) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  NEARFIELD_GLOBAL const u32* const piece = pieces + static_cast<u64>(block_x()) * kPieceWords;
  NEARFIELD_GLOBAL const u32* const list = lists + piece[0];
  const u32 count = piece[1] >> 8;
  const u32 weight = piece[1] & 0xFF;
  NEARFIELD_GLOBAL u32* const of_query = scores + static_cast<u64>(piece[2]) * words_of_a_query;
  for (u32 i = thread(); i < count; i += kThreads) {
    const u32 row = list[i] - first;
    if (row < rows) {
      add_to_global(of_query + row / 4, weight << (row % 4 * 8));
    } else {
      add_to_global(wrong, 1);
    }
  }
}

// Of every query, a y of the grid. Scores are 0 again behind it.
NEARFIELD_KERNEL list_scored(NEARFIELD_GLOBAL nearfield::u32* scores,
                             nearfield::u32 words_of_a_query, nearfield::u32 threshold,
                             NEARFIELD_GLOBAL nearfield::u32* count, nearfield::u32 most,
                             NEARFIELD_GLOBAL nearfield::u64* places) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const PairList list{count, most, places};
  const u32 query = block_y();
  NEARFIELD_GLOBAL u32* const of_query = scores + static_cast<u64>(query) * words_of_a_query;
  for (u32 word = block_x() * kThreads + thread(); word < words_of_a_query;
       word += blocks_x() * kThreads) {
    const u32 four = of_query[word];
    if (four == 0) continue;
    of_query[word] = 0;
    for (u32 i = 0; i < 4; ++i) {
      if ((four >> (8 * i) & 0xFF) >= threshold) list.add(query, 4 * word + i);
    }
  }
}
