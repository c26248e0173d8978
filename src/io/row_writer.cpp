#include <memory>
#include <span>
#include <string>

#include <nearfield/files.hpp>

#include "core/fail.hpp"
#include "io/file.hpp"
#include "io/format.hpp"
#include "io/shape.hpp"

namespace nearfield {
namespace {

class FileRowWriter final : public RowWriter {
 public:
  FileRowWriter(const std::string& path, DType dtype, std::int64_t rows, std::int64_t cols,
                const CancelToken& cancel)
      : path_(path),
        dtype_(dtype),
        rows_(rows),
        cols_(cols),
        format_(format_to_write(path, dtype)),
        layout_(layout_to_write()),
        file_(path, cancel) {
    write_header(file_, format_, layout_);
  }

  void append(MatrixView rows) override {
    if (rows.dtype() != dtype_ || rows.cols() != cols_ || rows.rows() > rows_ - done_) {
      fail(ErrorCode::invalid_argument,
           "{}: {} rows of {} {} cannot follow {} of the {} rows of {} {} that were announced",
           path_, rows.rows(), rows.cols(), to_string(rows.dtype()), done_, rows_, cols_,
           to_string(dtype_));
    }
    write(rows);
    done_ += rows.rows();
  }

  void commit() override {
    if (done_ != rows_) {
      fail(ErrorCode::invalid_argument, "{}: {} rows were announced, got {}", path_, rows_, done_);
    }
    file_.commit();
  }

 private:
  FileLayout layout_to_write() const {
    if (cols_ > kMaxCols) {
      fail(ErrorCode::invalid_argument, "{}: rows have at most {} columns, got {}", path_, kMaxCols,
           cols_);
    }
    const FileValue& value = stored_value(format_, dtype_);
    const std::int64_t cols = row_bytes(dtype_, cols_) / value.bytes;
    check_shape(path_, rows_, cols, format_.most_rows, format_.most_cols);
    return {value, rows_, cols, 0, format_.counted};
  }

  void write(MatrixView rows) {
    const std::int64_t bytes = row_bytes(dtype_, cols_);
    if (rows.stride_bytes() == bytes && !layout_.counted) {
      file_.write({rows.row(0), static_cast<std::size_t>(rows.rows() * bytes)});
      return;
    }
    const auto count = static_cast<std::int32_t>(layout_.cols);
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      if (layout_.counted) {
        file_.write(std::as_bytes(std::span(&count, 1)));
      }
      file_.write({rows.row(i), static_cast<std::size_t>(bytes)});
    }
  }

  std::string path_;
  DType dtype_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t done_ = 0;
  const FileFormat& format_;
  FileLayout layout_;
  OutputFile file_;
};

}  // namespace

std::unique_ptr<RowWriter> create_rows(const std::string& path, DType dtype, std::int64_t rows,
                                       std::int64_t cols, const CancelToken& cancel) {
  return std::make_unique<FileRowWriter>(path, dtype, rows, cols, cancel);
}

}  // namespace nearfield
