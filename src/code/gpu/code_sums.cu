// What least squares need of rows and their codes: how often two codes meet, and the sum of the
// rows of each code, in the order of rows, so that bits are those of a CPU.
#include "device/gpu/kernel_language.h"
#include "select/gpu/block_order.h"

namespace nearfield::device {
namespace {

// Rows that are found before they are added.
constexpr u32 kListed = 1024;

}  // namespace
}  // namespace nearfield::device

// A thread a row: meetings of its code of codebook `first` and that of each later one, a y of the
// grid. counts: [later codebook][code][code].
NEARFIELD_KERNEL count_pairs(NEARFIELD_GLOBAL const nearfield::u8* codes, nearfield::u32 count,
                             nearfield::u32 codebooks, nearfield::u32 codewords,
                             nearfield::u32 first, NEARFIELD_GLOBAL nearfield::u32* counts) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 row = block_x() * kThreads + thread();
  if (row >= count) return;
  NEARFIELD_GLOBAL const nearfield::u8* const own = codes + static_cast<u64>(row) * codebooks;
  const u32 pair = own[first] * codewords + own[first + 1 + block_y()];
  add_to_global(counts + static_cast<u64>(block_y()) * codewords * codewords + pair, 1);
}

// A block a code (x) and codebook (y): adds the rows that have it to its sums, row after row, and
// how many they are to its count.
NEARFIELD_KERNEL sum_rows(NEARFIELD_GLOBAL const float* rows,
                          NEARFIELD_GLOBAL const nearfield::u8* codes, nearfield::u32 count,
                          nearfield::u32 cols, nearfield::u32 codebooks,
                          NEARFIELD_GLOBAL double* sums, NEARFIELD_GLOBAL nearfield::u32* counts) {
  NEARFIELD_BLOCK nearfield::u32 listed[nearfield::device::kListed + nearfield::device::kThreads];
  NEARFIELD_BLOCK nearfield::u32 of_warps[nearfield::device::kWarps];
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 place = block_y() * blocks_x() + block_x();
  NEARFIELD_GLOBAL double* const own = sums + static_cast<u64>(place) * cols;
  u32 found = 0;
  u32 all = 0;
  for (u32 first = 0; first < count; first += kThreads) {
    const u32 row = first + thread();
    const bool has =
        row < count && codes[static_cast<u64>(row) * codebooks + block_y()] == block_x();
    const Slot slot = slot_in_order(has, of_warps);
    if (has) listed[found + slot.own] = row;
    found += slot.all;
    if (found < kListed && first + kThreads < count) continue;
    sync();  // the list has been written; before it is again, slot_in_order waits for all
    for (u32 column = thread(); column < cols; column += kThreads) {
      double sum = own[column];
      for (u32 i = 0; i < found; ++i) {
        sum += static_cast<double>(rows[static_cast<u64>(listed[i]) * cols + column]);
      }
      own[column] = sum;
    }
    all += found;
    found = 0;
  }
  if (thread() == 0) counts[place] += all;
}
