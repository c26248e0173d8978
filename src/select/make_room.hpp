// Scratch memory that is never held twice.
#pragma once

#include <cstddef>
#include <vector>

namespace nearfield {

// std::vector::resize for values that are not needed any more: where it must grow, the old memory
// is released first, and the new has room for `count` and no more.
template <class T>
void make_room(std::vector<T>& scratch, std::size_t count) {
  if (scratch.capacity() < count) std::vector<T>().swap(scratch);
  scratch.resize(count);
}

}  // namespace nearfield
