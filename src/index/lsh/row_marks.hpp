// A set of rows that many buckets are poured into, and that gives each row once, rising.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/checked.hpp"

namespace nearfield {

// A bit for each row, and a bit for each word of these that is not empty: of 1,000,000 rows 127 KB,
// which stay in a cache while buckets come in any order.
class RowMarks {
 public:
  explicit RowMarks(std::int64_t rows)
      : words_(static_cast<std::size_t>(divide_up(rows, 64))),
        full_(static_cast<std::size_t>(divide_up(rows, 64 * 64))) {}

  static std::int64_t bytes(std::int64_t rows) {
    return 8 * (divide_up(rows, 64) + divide_up(rows, 64 * 64));
  }

  void add(std::uint32_t row) {
    words_[row / 64] |= std::uint64_t{1} << (row % 64);
    full_[row / (64 * 64)] |= std::uint64_t{1} << (row / 64 % 64);
  }

  // Appends rows below `end`, until there are `most`, and forgets them. True if none below it is
  // left.
  bool take(std::int64_t end, std::size_t most, std::vector<std::uint32_t>& rows) {
    for (std::size_t block = 0; block < full_.size(); ++block) {
      while (full_[block] != 0) {
        const std::size_t word =
            64 * block + static_cast<std::size_t>(std::countr_zero(full_[block]));
        for (std::uint64_t& bits = words_[word]; bits != 0; bits &= bits - 1) {
          const std::size_t row = 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
          if (static_cast<std::int64_t>(row) >= end) return true;
          if (rows.size() == most) return false;
          rows.push_back(static_cast<std::uint32_t>(row));
        }
        full_[block] &= full_[block] - 1;
      }
    }
    return true;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> full_;
};

}  // namespace nearfield
