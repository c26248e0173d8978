// Pairs that a device has found, which it has put in no order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/make_room.hpp"

namespace nearfield {

class PairsByQuery {
 public:
  // places: the query above, of `queries` from 0 on, the row below.
  void sort(std::span<const std::uint64_t> places, std::int64_t queries) {
    ends_.assign(static_cast<std::size_t>(queries) + 1, 0);
    for (const std::uint64_t pair : places) ++ends_[(pair >> 32) + 1];
    for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
    make_room(order_, places.size());
    // Each start moves to where the next query's was.
    for (std::size_t i = 0; i < places.size(); ++i) {
      order_[ends_[places[i] >> 32]++] = static_cast<std::uint32_t>(i);
    }
  }

  // Numbers of its pairs.
  std::span<const std::uint32_t> of(std::int64_t query) const {
    const auto i = static_cast<std::size_t>(query);
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::span(order_).subspan(begin, ends_[i] - begin);
  }

 private:
  std::vector<std::size_t> ends_;
  std::vector<std::uint32_t> order_;
};

}  // namespace nearfield
