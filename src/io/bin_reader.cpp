#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <nearfield/files.hpp>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "io/bin_file.hpp"

namespace nearfield {
namespace {

// Padded rows are read close to each other and moved apart in pieces of this size, which stay in
// the second-level cache between the two.
constexpr std::int64_t kSpreadBytes = std::int64_t{256} << 10;

constexpr std::int64_t kIdsPerRead = std::int64_t{256} << 10;

std::span<std::byte> bytes_at(std::byte* data, std::int64_t count) {
  return {data, static_cast<std::size_t>(count)};
}

class BinRows final : public RowSource {
 public:
  BinRows(InputFile file, DType dtype, std::int64_t rows, std::int64_t cols)
      : file_(std::move(file)),
        dtype_(dtype),
        rows_(rows),
        cols_(cols),
        row_bytes_(row_bytes(dtype, cols)) {}

  DType dtype() const override { return dtype_; }
  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }

  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override {
    check_request(first, count, into, at);
    if (into.stride_bytes() == row_bytes_) {
      file_.read_at(offset_of(first), bytes_at(into.row(at), count * row_bytes_));
      return;
    }
    const std::int64_t step = std::max<std::int64_t>(1, kSpreadBytes / into.stride_bytes());
    for (std::int64_t row = 0; row < count; row += step) {
      read_padded(first + row, std::min(step, count - row), into.row(at + row),
                  into.stride_bytes());
    }
  }

 private:
  std::int64_t offset_of(std::int64_t row) const { return kBinHeaderBytes + row * row_bytes_; }

  void check_request(std::int64_t first, std::int64_t count, const Matrix& into,
                     std::int64_t at) const {
    if (first < 0 || count < 0 || count > rows_ || first > rows_ - count) {
      fail(ErrorCode::invalid_argument, "{}: asked for {} rows from row {}, it has {}",
           file_.path(), count, first, rows_);
    }
    if (into.dtype() != dtype_ || into.cols() != cols_ || at < 0 || count > into.rows() ||
        at > into.rows() - count) {
      fail(ErrorCode::invalid_argument,
           "{}: {} rows of {} {} do not fit at row {} of a matrix of {} rows of {} {}",
           file_.path(), count, cols_, to_string(dtype_), at, into.rows(), into.cols(),
           to_string(into.dtype()));
    }
  }

  // One read to the end of the rows' own memory, then each row moves forward to its place: it never
  // overtakes one that is still to move, needs no second buffer, and leaves the padding zero.
  void read_padded(std::int64_t first, std::int64_t count, std::byte* out,
                   std::int64_t stride) const {
    std::byte* const packed = out + count * (stride - row_bytes_);
    file_.read_at(offset_of(first), bytes_at(packed, count * row_bytes_));
    for (std::int64_t i = 0; i < count; ++i) {
      std::byte* const row = out + i * stride;
      std::memmove(row, packed + i * row_bytes_, static_cast<std::size_t>(row_bytes_));
      std::memset(row + row_bytes_, 0, static_cast<std::size_t>(stride - row_bytes_));
    }
  }

  InputFile file_;
  DType dtype_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t row_bytes_;
};

void check_bits(const std::string& path, const BinFormat& format, std::int64_t bytes,
                std::int64_t bits) {
  if (format.dtype != DType::u8) {
    fail(ErrorCode::invalid_argument, "{}: bits = {} was given, but only a .u8bin holds bits", path,
         bits);
  }
  if (bits < 0 || bits > kMaxCols) {
    fail(ErrorCode::invalid_argument, "{}: bits = {} is not between 0 and {}", path, bits,
         kMaxCols);
  }
  if (divide_up(bits, 8) != bytes) {
    fail(ErrorCode::invalid_argument,
         "{}: bits = {} need {} bytes a row, but the header says {} columns (bytes)", path, bits,
         divide_up(bits, 8), bytes);
  }
}

BinRows open_bin(const std::string& path, const FileOptions& options) {
  const BinFormat& format = bin_format_of(path);
  InputFile file(path);
  const BinHeader header = read_bin_header(file, format);
  if (!format.dtype) {
    fail(ErrorCode::invalid_argument, "{}: a {} holds ids ({} x {}), not vectors", path,
         format.ending, header.rows, header.cols);
  }
  if (header.cols > kMaxCols) {
    fail(ErrorCode::unsupported, "{}: has {} columns, the limit is {}", path, header.cols,
         kMaxCols);
  }
  if (options.bits == 0) {
    return {std::move(file), *format.dtype, header.rows, header.cols};
  }
  check_bits(path, format, header.cols, options.bits);
  return {std::move(file), DType::bits, header.rows, options.bits};
}

}  // namespace

std::unique_ptr<RowSource> open_rows(const std::string& path, const FileOptions& options) {
  return std::make_unique<BinRows>(open_bin(path, options));
}

Matrix read_matrix(const std::string& path, const FileOptions& options) {
  const BinRows rows = open_bin(path, options);
  Matrix matrix(rows.dtype(), rows.rows(), rows.cols());
  rows.read(0, rows.rows(), matrix, 0);
  return matrix;
}

std::vector<std::int64_t> read_ids(const std::string& path) {
  const BinFormat& format = bin_format_of(path);
  if (format.dtype) {
    fail(ErrorCode::invalid_argument, "{}: a {} holds vectors, not ids; ids are in a {}", path,
         format.ending, bin_format_for_ids().ending);
  }
  const InputFile file(path);
  const BinHeader header = read_bin_header(file, format);
  const std::int64_t count = header.rows * header.cols;
  std::vector<std::int64_t> ids;
  try {
    ids.reserve(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory_limit, "{}: no memory for its {} ids of 8 bytes", path, count);
  }
  std::vector<std::int32_t> piece;
  for (std::int64_t first = 0; first < count; first += kIdsPerRead) {
    piece.resize(static_cast<std::size_t>(std::min(kIdsPerRead, count - first)));
    file.read_at(kBinHeaderBytes + first * format.value_bytes,
                 std::as_writable_bytes(std::span(piece)));
    ids.insert(ids.end(), piece.begin(), piece.end());
  }
  return ids;
}

}  // namespace nearfield
