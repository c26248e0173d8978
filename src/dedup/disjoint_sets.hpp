// Which numbers belong together, told pair by pair by any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/aligned_array.hpp"

namespace nearfield {

// Each number points to a smaller one of its set, the smallest to itself: so what the sets are, and
// which number stands for each, does not depend on the order of the pairs.
class DisjointSets {
 public:
  explicit DisjointSets(std::int64_t count) : before_(count) {
    for (std::int64_t i = 0; i < count; ++i) before_[i] = static_cast<std::uint32_t>(i);
  }

  // The smallest number of a set, if nobody joins any.
  std::uint32_t first_of(std::uint32_t i) {
    for (;;) {
      const std::uint32_t before = at(i).load(std::memory_order_relaxed);
      const std::uint32_t next = at(before).load(std::memory_order_relaxed);
      if (before == next) return before;
      // Whoever wrote in between wrote one of the same set, and smaller than i, too.
      at(i).store(next, std::memory_order_relaxed);
      i = next;
    }
  }

  void join(std::uint32_t a, std::uint32_t b) {
    for (;;) {
      a = first_of(a);
      b = first_of(b);
      if (a == b) return;
      if (a > b) std::swap(a, b);
      std::uint32_t alone = b;
      if (at(b).compare_exchange_weak(alone, a, std::memory_order_relaxed)) return;
    }
  }

 private:
  std::atomic_ref<std::uint32_t> at(std::uint32_t i) { return std::atomic_ref(before_[i]); }

  AlignedArray<std::uint32_t> before_;
};

}  // namespace nearfield
