// The rows of an open vector file, whatever its format.
#pragma once

#include <cstdint>
#include <optional>

#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

#include "io/file.hpp"
#include "io/format.hpp"

namespace nearfield {

// Reads pieces, and nothing else is in memory.
class FileRows : public RowSource {
 public:
  // `dtype` and `cols` are what a search sees; packed bits are bytes in the layout.
  FileRows(InputFile file, const FileLayout& layout, DType dtype, std::int64_t cols);

  DType dtype() const override { return dtype_; }
  std::int64_t rows() const override { return layout_.rows; }
  std::int64_t cols() const override { return cols_; }
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override;

 protected:
  const InputFile& file() const { return file_; }

 private:
  void check_request(std::int64_t first, std::int64_t count, const Matrix& into,
                     std::int64_t at) const;
  std::int64_t read_piece(std::int64_t first, std::int64_t room, std::byte* out,
                          std::int64_t stride) const;
  void read_alone(std::int64_t row, std::byte* out, std::int64_t stride) const;
  std::int64_t offset_of(std::int64_t row) const { return layout_.offset + row * record_bytes_; }

  InputFile file_;
  FileLayout layout_;
  DType dtype_;
  std::int64_t cols_;
  std::int64_t row_bytes_;
  std::int64_t record_bytes_;
};

// The file itself is what a search sees. `read` still reads, and so never meets a SIGBUS.
class MappedRows final : public FileRows {
 public:
  MappedRows(InputFile file, const FileLayout& layout, DType dtype, std::int64_t cols);

  std::optional<MatrixView> in_memory() const override { return view_; }

 private:
  Mapping mapping_;
  MatrixView view_;
};

// Throws unless the number of values that stands before a row is that of the first row.
void check_row_count(const InputFile& file, std::int64_t row, std::int32_t count,
                     std::int64_t expected);

}  // namespace nearfield
