#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/checked.hpp"
#include "filter/filter.hpp"

namespace nearfield {

// What keeps threads apart in the sink: a mutex for so many rows. A thread holds those of one range
// at a time, taken from the first to the last, so that none waits for another in a circle.
class Stripes {
 public:
  static constexpr std::int64_t kRows = 1024;

  explicit Stripes(Range rows)
      : first_(rows.begin), mutexes_(static_cast<std::size_t>(divide_up(rows.size(), kRows))) {}

  template <class Work>
  void with(Range rows, const Work& work) {
    const auto begin = static_cast<std::size_t>((rows.begin - first_) / kRows);
    const auto end = static_cast<std::size_t>((rows.end - 1 - first_) / kRows);
    std::vector<std::unique_lock<std::mutex>> locks;
    for (std::size_t i = begin; i <= end; ++i) locks.emplace_back(mutexes_[i]);
    work();
  }

 private:
  std::int64_t first_;
  std::vector<std::mutex> mutexes_;
};

}  // namespace nearfield
