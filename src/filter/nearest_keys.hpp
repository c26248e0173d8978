// The nearest of each vector of one side, of all that it has met, where keys are integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace nearfield {

// Of some vectors, by their places. 12 bytes each, apart, so that kernels read them by registers.
struct NearestPlaces {
  std::int32_t* first;   // key of the nearest, or NearestKeys::kNone
  std::int32_t* second;  // that of the second
  std::int32_t* ids;     // of the nearest

  NearestPlaces from(std::int64_t place) const {
    return {first + place, second + place, ids + place};
  }

  // Keeps what is nearer, of equal keys the smaller id. In any order, the same is kept.
  void offer(std::int64_t place, std::int32_t key, std::int32_t id) const {
    if (key < first[place] || (key == first[place] && id < ids[place])) {
      second[place] = first[place];
      first[place] = key;
      ids[place] = id;
    } else {
      second[place] = std::min(second[place], key);
    }
  }
};

class NearestKeys {
 public:
  static constexpr std::int32_t kNone = 1 << 30;  // beyond every key
  static constexpr std::int32_t kLargestKey = (1 << 29) - 1;
  static constexpr std::int64_t kMostIds = std::numeric_limits<std::int32_t>::max();
  static constexpr std::int64_t kBytes = 3 * sizeof(std::int32_t);  // of a vector

  explicit NearestKeys(std::int64_t count)
      : first_(static_cast<std::size_t>(count), kNone),
        second_(static_cast<std::size_t>(count), kNone),
        ids_(static_cast<std::size_t>(count), std::numeric_limits<std::int32_t>::max()) {}

  NearestPlaces places() { return {first_.data(), second_.data(), ids_.data()}; }
  std::int32_t first(std::size_t place) const { return first_[place]; }
  std::int32_t second(std::size_t place) const { return second_[place]; }
  std::int32_t id(std::size_t place) const { return ids_[place]; }

  // Takes `count` of them from `place` on to the beginning of `out`; and back what was nearer
  // there, whatever has come here meanwhile. What was taken and stayed must not count again, as a
  // second: it is known by its id.
  void copy(std::int64_t place, std::int64_t count, NearestKeys& out) const {
    const auto copy_of = [&](const std::vector<std::int32_t>& from, std::vector<std::int32_t>& to) {
      std::copy_n(from.begin() + place, count, to.begin());
    };
    copy_of(first_, out.first_);
    copy_of(second_, out.second_);
    copy_of(ids_, out.ids_);
  }
  void merge(std::int64_t place, std::int64_t count, const NearestKeys& from) {
    const NearestPlaces here = places().from(place);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (from.ids_[at] != here.ids[i]) here.offer(i, from.first_[at], from.ids_[at]);
      here.second[i] = std::min(here.second[i], from.second_[at]);
    }
  }

 private:
  std::vector<std::int32_t> first_;
  std::vector<std::int32_t> second_;
  std::vector<std::int32_t> ids_;
};

}  // namespace nearfield
