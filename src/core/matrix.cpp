#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/checked.hpp"

namespace nearfield {
namespace {

// A row starts on a cache line, which is also the widest vector register.
constexpr std::int64_t kRowAlignment = 64;
constexpr std::align_val_t kAlignment{kRowAlignment};

struct DTypeInfo {
  std::string_view name;
  std::int64_t bytes;    // of an element; a byte of eight for bits
  int significand_bits;  // how many leading bits of an integer it holds exactly
  int max_exponent;
  int min_exponent;  // of the smallest subnormal
};

constexpr std::array<DTypeInfo, kDTypeCount> kDTypes{{
    {"f64", 8, 53, 1024, -1074},
    {"f32", 4, 24, 128, -149},
    {"f16", 2, 11, 16, -24},
    {"bf16", 2, 8, 128, -133},
    {"u8", 1, 8, 8, 0},
    {"i8", 1, 7, 8, 0},
    {"bits", 1, 0, 0, 0},
}};

const DTypeInfo& describe(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

void check_shape(DType dtype, std::int64_t rows, std::int64_t cols) {
  if (rows < 0 || rows > kMaxRows) {
    fail(ErrorCode::invalid_argument, "a matrix has 0 to {} rows, got {}", kMaxRows, rows);
  }
  if (cols < 0 || cols > kMaxCols) {
    fail(ErrorCode::invalid_argument, "a matrix of {} has 0 to {} columns, got {}",
         to_string(dtype), kMaxCols, cols);
  }
}

}  // namespace

std::string_view to_string(DType dtype) { return describe(dtype).name; }

DType parse_dtype(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
    known += (known.empty() ? "" : ", ") + std::string(kDTypes[i].name);
  }
  fail(ErrorCode::invalid_argument, "unknown type '{}', expected one of {}", name, known);
}

bool holds(DType wide, DType narrow) {
  if (wide == narrow) return true;
  if (wide == DType::bits || narrow == DType::bits) return false;
  if (wide == DType::u8 || wide == DType::i8) return false;  // one sign too few or one bit
  const DTypeInfo& w = describe(wide);
  const DTypeInfo& n = describe(narrow);
  return w.significand_bits >= n.significand_bits && w.max_exponent >= n.max_exponent &&
         w.min_exponent <= n.min_exponent;
}

std::int64_t row_bytes(DType dtype, std::int64_t cols) {
  return dtype == DType::bits ? divide_up(cols, 8) : cols * describe(dtype).bytes;
}

MatrixView::MatrixView(const void* data, DType dtype, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride_bytes)
    : data_(static_cast<const std::byte*>(data)), rows_(rows), cols_(cols), dtype_(dtype) {
  check_shape(dtype, rows, cols);
  const std::int64_t used = row_bytes(dtype, cols);
  stride_ = stride_bytes == 0 ? used : stride_bytes;
  const std::int64_t element = describe(dtype).bytes;
  if (stride_ < used || stride_ % element != 0) {
    fail(ErrorCode::invalid_argument,
         "the stride of {} columns of {} is at least {} bytes and a multiple of {}, got {}", cols,
         to_string(dtype), used, element, stride_bytes);
  }
  checked_mul(rows, stride_, "bytes of a matrix");
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element) != 0) {
    fail(ErrorCode::invalid_argument, "rows of {} start at a multiple of {} bytes: copy them",
         to_string(dtype), element);
  }
  if (data == nullptr && rows > 0 && cols > 0) {
    fail(ErrorCode::invalid_argument, "null data for {} rows x {} columns", rows, cols);
  }
}

MatrixView MatrixView::slice(std::int64_t first, std::int64_t count) const {
  if (first < 0 || count < 0 || first > rows_ || count > rows_ - first) {
    fail(ErrorCode::invalid_argument, "{} rows from row {} of a matrix with {}", count, first,
         rows_);
  }
  MatrixView part = *this;
  if (count > 0) part.data_ = row(first);  // no arithmetic on the null data of an empty matrix
  part.rows_ = count;
  return part;
}

Matrix::Matrix(DType dtype, std::int64_t rows, std::int64_t cols, Layout layout) {
  check_shape(dtype, rows, cols);
  const std::int64_t used = row_bytes(dtype, cols);
  const std::int64_t stride = layout == Layout::aligned_rows ? round_up(used, kRowAlignment) : used;
  const std::int64_t bytes =
      round_up(checked_mul(rows, stride, "bytes of a matrix"), kRowAlignment) + kRowAlignment;
  void* const memory = ::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow);
  if (memory == nullptr) {
    fail(ErrorCode::memory_limit, "no memory for {} rows x {} columns of {} ({} bytes)", rows, cols,
         to_string(dtype), bytes);
  }
  std::memset(memory, 0, static_cast<std::size_t>(bytes));
  data_.reset(static_cast<std::byte*>(memory));
  view_ = MatrixView(data_.get(), dtype, rows, cols, stride);
}

void Matrix::Free::operator()(std::byte* data) const { ::operator delete(data, kAlignment); }

Matrix::Matrix(Matrix&& other) noexcept
    : data_(std::move(other.data_)), view_(std::exchange(other.view_, MatrixView())) {}

Matrix& Matrix::operator=(Matrix&& other) noexcept {
  data_ = std::move(other.data_);
  view_ = std::exchange(other.view_, MatrixView());
  return *this;
}

Matrix read_all(const RowSource& rows) {
  Matrix all(rows.dtype(), rows.rows(), rows.cols());
  rows.read(0, rows.rows(), all, 0);
  return all;
}

void MatrixRows::read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const {
  const MatrixView rows = view_.slice(first, count);
  const auto bytes = static_cast<std::size_t>(row_bytes(dtype(), cols()));
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(into.row(at + i), rows.row(i), bytes);
}

}  // namespace nearfield
