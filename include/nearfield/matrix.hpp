// Rows of numbers or bits: MatrixView looks at the caller's memory, Matrix owns its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace nearfield {

enum class DType : std::uint8_t { f64, f32, f16, bf16, u8, i8, bits };
inline constexpr int kDTypeCount = 7;

std::string_view to_string(DType dtype);
DType parse_dtype(std::string_view name);

// True if every value of `narrow` is exactly a value of `wide`.
bool holds(DType wide, DType narrow);

// Half-precision storage types. Nearfield computes on their values in float64.
struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

// Limits of one matrix. Counts are 64-bit throughout.
inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxCols = 65'536;

// Bytes that one row's values take, without padding.
std::int64_t row_bytes(DType dtype, std::int64_t cols);

// A read-only, row-major view with a stride. For `bits`, cols is the number of bits, bit j of a row
// is bit j%8 (least significant first, numpy's bitorder="little") of its byte j/8, and the unused
// bits of the last byte must be zero: search checks them, since it could not tell a wrong bit order
// otherwise. Data and stride must be multiples of the element size.
class MatrixView {
 public:
  MatrixView() = default;

  // stride is in bytes; 0 means rows lie close to each other.
  MatrixView(const void* data, DType dtype, std::int64_t rows, std::int64_t cols,
             std::int64_t stride_bytes = 0);

  MatrixView(const double* data, std::int64_t rows, std::int64_t cols)
      : MatrixView(data, DType::f64, rows, cols) {}
  MatrixView(const float* data, std::int64_t rows, std::int64_t cols)
      : MatrixView(data, DType::f32, rows, cols) {}
  MatrixView(const Float16* data, std::int64_t rows, std::int64_t cols)
      : MatrixView(data, DType::f16, rows, cols) {}
  MatrixView(const BFloat16* data, std::int64_t rows, std::int64_t cols)
      : MatrixView(data, DType::bf16, rows, cols) {}
  MatrixView(const std::uint8_t* data, std::int64_t rows, std::int64_t cols)
      : MatrixView(data, DType::u8, rows, cols) {}
  MatrixView(const std::int8_t* data, std::int64_t rows, std::int64_t cols)
      : MatrixView(data, DType::i8, rows, cols) {}

  // Packed bits are never guessed from bytes.
  static MatrixView bits(const std::uint8_t* data, std::int64_t rows, std::int64_t bit_count) {
    return {data, DType::bits, rows, bit_count};
  }

  DType dtype() const { return dtype_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t stride_bytes() const { return stride_; }
  const std::byte* row(std::int64_t i) const { return data_ + i * stride_; }

  // Rows [first, first + count).
  MatrixView slice(std::int64_t first, std::int64_t count) const;

 private:
  const std::byte* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::int64_t stride_ = 0;
  DType dtype_ = DType::f32;
};

// Owns zeroed rows, each aligned to 64 bytes when `aligned_rows`, else close to each other.
class Matrix {
 public:
  enum class Layout { dense, aligned_rows };

  Matrix() = default;
  Matrix(DType dtype, std::int64_t rows, std::int64_t cols, Layout layout = Layout::dense);
  Matrix(Matrix&& other) noexcept;  // which is then empty
  Matrix& operator=(Matrix&& other) noexcept;

  DType dtype() const { return view_.dtype(); }
  std::int64_t rows() const { return view_.rows(); }
  std::int64_t cols() const { return view_.cols(); }
  std::int64_t stride_bytes() const { return view_.stride_bytes(); }
  std::int64_t bytes() const { return view_.rows() * view_.stride_bytes(); }

  std::byte* row(std::int64_t i) { return data_.get() + i * view_.stride_bytes(); }
  const std::byte* row(std::int64_t i) const { return view_.row(i); }

  MatrixView view() const { return view_; }
  operator MatrixView() const { return view_; }  // NOLINT(google-explicit-constructor)

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  MatrixView view_;
};

}  // namespace nearfield
