// The end of a product: factor * product + of the query + of the row.
#pragma once

#include "device/gpu/kernel_language.h"

namespace nearfield::device {

NEARFIELD_INLINE float combined(float factor, float sum, float of_query, float of_row) {
  return factor * sum + (of_query + of_row);
}
// What is in between may wrap; what it comes to does not.
NEARFIELD_INLINE i32 combined(i32 factor, i32 sum, i32 of_query, i32 of_row) {
  return static_cast<i32>(static_cast<u32>(factor) * static_cast<u32>(sum) +
                          static_cast<u32>(of_query) + static_cast<u32>(of_row));
}

}  // namespace nearfield::device
