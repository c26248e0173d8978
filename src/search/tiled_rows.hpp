// Rows that lie in no matrix: of bytes that are kept for the tile kernels alone, those of others
// that a search may find, and those of which only codes are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <nearfield/rows.hpp>

#include "filter/filter.hpp"
#include "filter/rounded/packed_bytes.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {

// Looks at both; `prepared` is of the same rows, or null.
class TiledRows final : public RowSource {
 public:
  TiledRows(const PackedBytes& bytes, Range rows, const PreparedBase* prepared)
      : bytes_(bytes), rows_(rows), prepared_(prepared) {}

  DType dtype() const override { return bytes_.dtype(); }
  std::int64_t rows() const override { return rows_.size(); }
  std::int64_t cols() const override { return bytes_.cols(); }
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override;
  const PreparedBase* prepared() const override { return prepared_; }

 private:
  const PackedBytes& bytes_;
  Range rows_;
  const PreparedBase* prepared_;
};

// Some of the rows of another, by their numbers. Looks at both.
class PickedRows final : public RowSource {
 public:
  PickedRows(const RowSource& rows, std::span<const std::int64_t> picks)
      : rows_(rows), picks_(picks) {}

  DType dtype() const override { return rows_.dtype(); }
  std::int64_t rows() const override { return std::ssize(picks_); }
  std::int64_t cols() const override { return rows_.cols(); }
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override;

 private:
  const RowSource& rows_;
  std::span<const std::int64_t> picks_;
};

// Throws unsupported, for who would read vectors of which codes are kept.
[[noreturn]] void fail_without_values(std::int64_t rows);

// Rows whose values nobody has, for a search that does not look at them (FilterMaker::reads_rows).
class RowsWithoutValues final : public RowSource {
 public:
  RowsWithoutValues(DType dtype, std::int64_t rows, std::int64_t cols)
      : dtype_(dtype), rows_(rows), cols_(cols) {}

  DType dtype() const override { return dtype_; }
  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override;

 private:
  DType dtype_;
  std::int64_t rows_;
  std::int64_t cols_;
};

}  // namespace nearfield
