// Scratch memory that is never held twice.
#pragma once

#include <cstddef>
#include <vector>

namespace nearfield {

// std::vector::reserve for an empty vector: where it must grow, the old memory is released first,
// and the new has room for `count` and no more.
template <class T>
void reserve_room(std::vector<T>& scratch, std::size_t count) {
  scratch.clear();
  if (scratch.capacity() >= count) return;
  std::vector<T>().swap(scratch);
  scratch.reserve(count);
}

// Likewise std::vector::resize, for values that are not needed any more.
template <class T>
void make_room(std::vector<T>& scratch, std::size_t count) {
  if (scratch.capacity() < count) reserve_room(scratch, count);
  scratch.resize(count);
}

}  // namespace nearfield
