// Vectors behind each other, in memory or in a file, with their ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/aligned_array.hpp"
#include "index/id_table.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {

// How many of its rows are used is said by who asks: a reader goes on with as many as there were
// when it began, while a writer fills the next.
class Part {
 public:
  // Empty, in memory.
  Part(DType dtype, std::int64_t cols, std::int64_t capacity);
  // What a file holds.
  Part(std::shared_ptr<const TensorFile> file, MatrixView rows, std::span<const std::int64_t> ids,
       std::span<const std::uint32_t> table);

  std::int64_t capacity() const { return rows_.rows(); }
  bool mapped() const { return file_ != nullptr; }
  std::int64_t bytes() const;

  MatrixView rows(std::int64_t count) const { return rows_.slice(0, count); }
  std::span<const std::int64_t> ids(std::int64_t count) const {
    return ids_.first(static_cast<std::size_t>(count));
  }

  // Of a part in memory. The row is found by its id only after `enter`.
  void put(std::int64_t row, const std::byte* values, std::int64_t id);

  // From here on, the id leads to this row, and to none before it. Not while others look for rows.
  void enter(std::int64_t row);
  std::optional<std::int64_t> find(std::int64_t id) const { return find_row(table_, ids_, id); }

 private:
  AlignedArray<std::byte> own_rows_;  // untouched beyond the last row: takes memory as it fills
  AlignedArray<std::int64_t> own_ids_;
  std::vector<std::uint32_t> own_table_;
  std::shared_ptr<const TensorFile> file_;

  MatrixView rows_;
  std::span<const std::int64_t> ids_;
  std::span<const std::uint32_t> table_;
};

// A bit for each row of a part, or none where all are set.
using RowBits = std::vector<std::uint64_t>;

inline bool bit_of(std::span<const std::uint64_t> words, std::int64_t row) {
  return (words[static_cast<std::size_t>(row / 64)] >> (row % 64) & 1) != 0;
}

// What a reader sees of a part.
struct PartView {
  std::shared_ptr<const Part> part;
  std::int64_t count = 0;
  std::shared_ptr<const RowBits> live;  // null: all

  bool lives(std::int64_t row) const { return live == nullptr || bit_of(*live, row); }
  MatrixView rows() const { return part->rows(count); }
  std::span<const std::int64_t> ids() const { return part->ids(count); }
};

}  // namespace nearfield
