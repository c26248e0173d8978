#include "io/file_rows.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/fail.hpp"

namespace nearfield {
namespace {

// Rows are read close to each other and moved to their places in pieces of this size, which stay
// in the second-level cache between the two.
constexpr std::int64_t kPieceBytes = std::int64_t{256} << 10;

std::span<std::byte> bytes_at(std::byte* data, std::int64_t count) {
  return {data, static_cast<std::size_t>(count)};
}

// A mapping begins on a page, so that the offset alone decides.
Mapping map_aligned(const InputFile& file, const FileLayout& layout) {
  if (layout.offset % layout.value.bytes != 0) {
    fail(ErrorCode::unsupported,
         "{}: its values begin at byte {}, expected a multiple of the {} bytes of a value: write "
         "it again, as numpy.save does, from byte 64 or a multiple of it on",
         file.path(), layout.offset, layout.value.bytes);
  }
  return file.map();
}

}  // namespace

void check_row_count(const InputFile& file, std::int64_t row, std::int32_t count,
                     std::int64_t expected) {
  if (count != expected) {
    fail(ErrorCode::corrupt_file,
         "{}: row {} says it has {} values, expected the {} of row 0: it is damaged, or joined "
         "from files of different widths; write it again",
         file.path(), row, count, expected);
  }
}

FileRows::FileRows(InputFile file, const FileLayout& layout, DType dtype, std::int64_t cols)
    : file_(std::move(file)),
      layout_(layout),
      dtype_(dtype),
      cols_(cols),
      row_bytes_(row_bytes(dtype, cols)),
      record_bytes_(record_bytes(layout)) {}

void FileRows::check_request(std::int64_t first, std::int64_t count, const Matrix& into,
                             std::int64_t at) const {
  if (first < 0 || count < 0 || count > rows() || first > rows() - count) {
    fail(ErrorCode::invalid_argument, "{}: asked for {} rows from row {}, it has {}", file_.path(),
         count, first, rows());
  }
  if (into.dtype() != dtype_ || into.cols() != cols_ || at < 0 || count > into.rows() ||
      at > into.rows() - count) {
    fail(ErrorCode::invalid_argument,
         "{}: {} rows of {} {} do not fit at row {} of a matrix of {} rows of {} {}", file_.path(),
         count, cols_, to_string(dtype_), at, into.rows(), into.cols(), to_string(into.dtype()));
  }
}

void FileRows::read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const {
  check_request(first, count, into, at);
  if (count == 0) {
    return;
  }
  const std::int64_t stride = into.stride_bytes();
  if (stride == record_bytes_ && !layout_.counted) {
    file_.read_at(offset_of(first), bytes_at(into.row(at), count * stride));
    return;
  }
  const std::int64_t most = std::max<std::int64_t>(1, kPieceBytes / stride);
  for (std::int64_t done = 0; done < count;) {
    done += read_piece(first + done, std::min(most, count - done), into.row(at + done), stride);
  }
}

// One read to the end of the memory of `room` rows, then each row moves forward to its place: it
// never overtakes one that is still to move, needs no second buffer, and leaves the padding zero.
// Counts take room too: the answer is how many rows were read.
std::int64_t FileRows::read_piece(std::int64_t first, std::int64_t room, std::byte* out,
                                  std::int64_t stride) const {
  const std::int64_t count = std::min(room, room * stride / record_bytes_);
  if (count == 0) {
    read_alone(first, out, stride);
    return 1;
  }
  std::byte* const packed = out + room * stride - count * record_bytes_;
  file_.read_at(offset_of(first), bytes_at(packed, count * record_bytes_));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* values = packed + i * record_bytes_;
    if (layout_.counted) {
      std::int32_t values_here = 0;
      std::memcpy(&values_here, values, sizeof values_here);
      check_row_count(file_, first + i, values_here, layout_.cols);
      values += kCountBytes;
    }
    std::byte* const row = out + i * stride;
    std::memmove(row, values, static_cast<std::size_t>(row_bytes_));
    std::memset(row + row_bytes_, 0, static_cast<std::size_t>(stride - row_bytes_));
  }
  return count;
}

// A counted row whose own memory has no room for the count.
void FileRows::read_alone(std::int64_t row, std::byte* out, std::int64_t stride) const {
  std::int32_t count = 0;
  file_.read_at(offset_of(row), std::as_writable_bytes(std::span(&count, 1)));
  check_row_count(file_, row, count, layout_.cols);
  file_.read_at(offset_of(row) + kCountBytes, bytes_at(out, row_bytes_));
  std::memset(out + row_bytes_, 0, static_cast<std::size_t>(stride - row_bytes_));
}

MappedRows::MappedRows(InputFile file, const FileLayout& layout, DType dtype, std::int64_t cols)
    : FileRows(std::move(file), layout, dtype, cols),
      mapping_(map_aligned(this->file(), layout)),
      view_(mapping_.data() + layout.offset, dtype, layout.rows, cols) {}

}  // namespace nearfield
