// Where rows of equal length begin, and where the last ends: for kernels whose rows may have any.
#include "device/gpu/kernel_language.h"

NEARFIELD_KERNEL row_starts(NEARFIELD_GLOBAL nearfield::u64* starts, nearfield::u32 rows,
                            nearfield::u64 length) {
  const nearfield::u64 row =
      static_cast<nearfield::u64>(nearfield::device::block_x()) * nearfield::device::kThreads +
      nearfield::device::thread();
  if (row <= rows) starts[row] = row * length;
}
