#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nearfield {

// std::vector::reserve for so many more, that does not copy all of it every time, and has at most
// an eighth more room than it needs: doubling would take twice the memory.
template <class T>
void grow_room(std::vector<T>& values, std::size_t more) {
  const std::size_t needed = values.size() + more;
  if (needed <= values.capacity()) return;
  values.reserve(std::max(needed, values.capacity() + values.capacity() / 8));
}

}  // namespace nearfield
