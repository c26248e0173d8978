// What a filter keeps of objects, 64 of them together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/checked.hpp"
#include "core/grow_room.hpp"
#include "filter/bound_filter.hpp"

namespace nearfield {

// Blocks of a file first, which are read as they lie there, then those in memory. The last one of a
// file is copied to memory where it is not full.
class RowBlocks {
 public:
  explicit RowBlocks(std::int64_t block_bytes) : block_bytes_(block_bytes) {}
  // The file must stay; it has the blocks of so many rows.
  RowBlocks(std::int64_t block_bytes, std::span<const std::uint8_t> file, std::int64_t rows)
      : block_bytes_(block_bytes), rows_(rows) {
    file_ = file.first(static_cast<std::size_t>(rows / kBoundBlock * block_bytes));
    const auto rest = file.subspan(file_.size());
    own_.assign(rest.begin(), rest.end());
  }

  static std::int64_t bytes_for(std::int64_t block_bytes, std::int64_t rows) {
    return divide_up(rows, kBoundBlock) * block_bytes;
  }

  std::int64_t block_bytes() const { return block_bytes_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t bytes() const { return bytes_for(block_bytes_, rows_); }
  // Rows of blocks that a file has; the others lie elsewhere.
  std::int64_t file_rows() const {
    return file_.empty() ? 0 : std::ssize(file_) / block_bytes_ * kBoundBlock;
  }

  // Rows behind the last, whose bytes are zeros until they are written.
  void append(std::int64_t rows) {
    rows_ += rows;
    const auto needed = static_cast<std::size_t>(bytes()) - file_.size();
    grow_room(own_, needed - own_.size());
    own_.resize(needed);
  }

  // Takes back what was appended, down to so many.
  void truncate(std::int64_t rows) {
    rows_ = rows;
    own_.resize(static_cast<std::size_t>(bytes()) - file_.size());
  }

  // The block of a row.
  const std::uint8_t* block_of(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row / kBoundBlock * block_bytes_);
    return at < file_.size() ? file_.data() + at : own_.data() + (at - file_.size());
  }
  // Of one that is not a file's.
  std::uint8_t* own_block_of(std::int64_t row) {
    return own_.data() +
           (static_cast<std::size_t>(row / kBoundBlock * block_bytes_) - file_.size());
  }

  // Calls use(blocks, count, first row of them) for the blocks of these rows, in one or two pieces.
  template <class Use>
  void for_each_run(Range rows, const Use& use) const {
    const std::int64_t in_file = std::ssize(file_) / block_bytes_;
    std::int64_t block = rows.begin / kBoundBlock;
    const std::int64_t end = divide_up(rows.end, kBoundBlock);
    while (block < end) {
      const std::int64_t stop = block < in_file ? std::min(end, in_file) : end;
      use(block_of(block * kBoundBlock), stop - block, block * kBoundBlock);
      block = stop;
    }
  }

 private:
  std::int64_t block_bytes_;
  std::int64_t rows_ = 0;
  std::span<const std::uint8_t> file_;
  std::vector<std::uint8_t> own_;
};

}  // namespace nearfield
