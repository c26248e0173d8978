// Vectors in memory or in a file, behind each other or in tiles, with their ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <nearfield/index.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

#include "core/aligned_array.hpp"
#include "core/checked.hpp"
#include "index/family_data.hpp"
#include "index/id_table.hpp"
#include "index/key_column.hpp"
#include "index/packed.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {

// A bit for each row of a part, or none where all are set.
using RowBits = std::vector<std::uint64_t>;

inline std::size_t words_of_rows(std::int64_t rows) {
  return static_cast<std::size_t>(divide_up(rows, 64));
}

// Whether values of the type may be NaN or infinite.
bool has_not_finite(DType dtype);

// How many of its rows are used is said by who asks: a reader goes on with as many as there were
// when it began, while a writer fills the next.
class Part {
 public:
  // What a file holds.
  struct Stored {
    std::shared_ptr<const TensorFile> file;
    std::int64_t count = 0;  // of rows
    MatrixView rows;         // of no use where what is packed holds the same
    bool vectors = true;     // else there are none
    bool numbered = false;   // ids are the numbers of rows, and there is neither of the next two
    std::span<const std::int64_t> ids;
    std::span<const std::uint32_t> table;
    std::span<const std::uint64_t> not_finite;  // of types that have such values
    std::optional<KeyTensors> keys;
    std::optional<StoredPacked> packed;
  };

  // Empty, in memory; with room for vectors, or only for their ids.
  Part(const IndexSpec& spec, std::int64_t capacity, bool vectors = true);
  explicit Part(Stored stored);

  // What one in memory takes, beside keys that are longer than a std::string holds.
  static std::int64_t bytes_for(const IndexSpec& spec, std::int64_t capacity, bool vectors = true);

  std::int64_t capacity() const { return capacity_; }
  bool mapped() const { return file_ != nullptr; }
  // Else what its family keeps of them is all there is: rows() of any throws, and so does read().
  bool has_vectors() const { return has_vectors_; }
  const TensorFile& file() const { return *file_; }
  std::int64_t bytes() const;

  // How its file rounds them; null if it does not.
  const BaseRounding* stored_rounding() const { return stored_ ? &stored_->rounding : nullptr; }
  // What the file holds of all its rows, made ready when it is first asked for; null if nothing.
  SharedPacked stored_packed() const;

  // The vectors, if they are in tiles alone; else null, and they lie behind each other.
  const PackedBytes* tiles() const { return tiles_ ? &*tiles_ : nullptr; }
  MatrixView rows(std::int64_t count) const;
  // Copies some of them, wherever they are, to rows [at, at + count) of a dense matrix.
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const;

  std::int64_t id(std::int64_t row) const {
    return numbered_ ? row : ids_[static_cast<std::size_t>(row)];
  }
  // None where they are the numbers of rows.
  std::span<const std::int64_t> ids(std::int64_t count) const {
    return numbered_ ? ids_ : ids_.first(static_cast<std::size_t>(count));
  }

  // A bit for each of 64 of its first rows that holds a NaN or an infinity.
  std::uint64_t not_finite(std::size_t word, std::int64_t count) const;

  // Of an index with keys.
  std::string_view key(std::int64_t row) const;

  // Of a part in memory. The row is found by its id, and its key, only after `enter`.
  void put(std::int64_t row, const std::byte* values, std::int64_t id, std::string_view key);
  // Of one without vectors.
  void put_finite(std::int64_t row, bool finite, std::int64_t id, std::string_view key);

  // From here on, id and key lead to this row, and to none before it. Not while others look for
  // rows.
  void enter(std::int64_t row);
  std::optional<std::int64_t> find(std::int64_t id) const;
  std::optional<std::int64_t> find(std::string_view key) const;

 private:
  template <class Look>
  auto of_file(const Look& look) const;

  std::int64_t capacity_;
  bool has_vectors_;
  bool numbered_ = false;
  std::optional<PackedBytes> tiles_;
  AlignedArray<std::byte> own_rows_;  // untouched beyond the last row: takes memory as it fills
  AlignedArray<std::int64_t> own_ids_;
  std::vector<std::uint32_t> own_table_;
  mutable RowBits own_not_finite_;  // read while the next rows are written, as atomic words
  std::optional<KeyColumn> keys_;
  std::shared_ptr<const TensorFile> file_;
  std::optional<StoredPacked> stored_;
  mutable std::once_flag packed_once_;
  mutable SharedPacked packed_;

  MatrixView rows_;
  std::span<const std::int64_t> ids_;
  std::span<const std::uint32_t> table_;
  std::span<const std::uint64_t> not_finite_;  // of a file
};

inline bool bit_of(std::span<const std::uint64_t> words, std::int64_t row) {
  return (words[static_cast<std::size_t>(row / 64)] >> (row % 64) & 1) != 0;
}

// What a reader sees of a part.
struct PartView {
  std::shared_ptr<const Part> part;
  std::int64_t count = 0;
  std::shared_ptr<const RowBits> live;  // null: all
  SharedPacked packed = nullptr;        // of the first rows, if not of a file
  SharedFamilyData family = nullptr;    // likewise, also of a file

  // Of the first of its rows, for searches on that ISA; null if there is nothing of the kind.
  SharedPacked packed_for(MetricSpec metric, Isa isa) const;
  bool lives(std::int64_t row) const { return live == nullptr || bit_of(*live, row); }
  MatrixView rows() const { return part->rows(count); }
  std::span<const std::int64_t> ids() const { return part->ids(count); }
};

// Its rows, for as long as somebody has them.
std::shared_ptr<const RowSource> rows_of(const std::shared_ptr<const PartView>& view);

// Calls use(view, begin, end) for each run of live rows.
template <class Use>
void for_each_run(std::span<const PartView> parts, const Use& use) {
  for (const PartView& view : parts) {
    if (view.live == nullptr) {
      use(view, std::int64_t{0}, view.count);
      continue;
    }
    for (std::int64_t row = 0; row < view.count;) {
      if (!view.lives(row)) {
        ++row;
        continue;
      }
      const std::int64_t begin = row;
      while (row < view.count && view.lives(row)) ++row;
      use(view, begin, row);
    }
  }
}

inline std::int64_t live_rows(std::span<const PartView> parts) {
  std::int64_t rows = 0;
  for_each_run(parts,
               [&](const PartView&, std::int64_t begin, std::int64_t end) { rows += end - begin; });
  return rows;
}

}  // namespace nearfield
