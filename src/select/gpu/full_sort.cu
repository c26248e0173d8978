// What a full sort needs beside sort_rows.cu: items of the values of a row, and the first of them
// once they are in order (seed: Hanák 2023, section 3.4).
#include "select/gpu/items.h"

// items: `count` a row.
NEARFIELD_KERNEL make_items(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                            nearfield::u32 count, nearfield::u32 largest,
                            NEARFIELD_GLOBAL nearfield::device::Item* items) {
  const nearfield::device::Source source =
      nearfield::device::source_of_block(values, kind, count, largest);
  items += static_cast<nearfield::u64>(nearfield::device::block_x()) * count;
  const nearfield::u64 step =
      static_cast<nearfield::u64>(nearfield::device::blocks_y()) * nearfield::device::kThreads;
  for (nearfield::u64 i =
           static_cast<nearfield::u64>(nearfield::device::block_y()) * nearfield::device::kThreads +
           nearfield::device::thread();
       i < count; i += step) {
    items[i] = nearfield::device::number_or_none(source.at(static_cast<nearfield::u32>(i)));
  }
}

// sorted: `count` a row; selected: the first k of each.
NEARFIELD_KERNEL take_first(NEARFIELD_GLOBAL const nearfield::device::Item* sorted,
                            nearfield::u32 count, nearfield::u32 k,
                            NEARFIELD_GLOBAL nearfield::device::Item* selected) {
  const nearfield::u64 row = nearfield::device::block_x();
  const nearfield::u64 step =
      static_cast<nearfield::u64>(nearfield::device::blocks_y()) * nearfield::device::kThreads;
  for (nearfield::u64 i =
           static_cast<nearfield::u64>(nearfield::device::block_y()) * nearfield::device::kThreads +
           nearfield::device::thread();
       i < k; i += step) {
    selected[row * k + i] = sorted[row * count + i];
  }
}
