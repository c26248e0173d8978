#include <nearfield/select.hpp>

#include "core/checked.hpp"

namespace nearfield {

ValuesView::ValuesView(const float* data, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride_bytes)
    : ValuesView(data, DType::f32, rows, cols, stride_bytes) {}

ValuesView::ValuesView(const double* data, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride_bytes)
    : ValuesView(data, DType::f64, rows, cols, stride_bytes) {}

ValuesView::ValuesView(MatrixView matrix)
    : ValuesView(matrix.rows() > 0 ? matrix.row(0) : nullptr, matrix.dtype(), matrix.rows(),
                 matrix.cols(), matrix.stride_bytes()) {}

ValuesView::ValuesView(const void* data, DType dtype, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride_bytes)
    : data_(static_cast<const std::byte*>(data)),
      rows_(rows),
      cols_(cols),
      stride_(stride_bytes),
      dtype_(dtype) {
  if (dtype != DType::f32 && dtype != DType::f64) {
    fail(ErrorCode::invalid_argument, "values to select from are f32 or f64, got {} x {} of {}",
         rows, cols, to_string(dtype));
  }
  if (rows < 0 || cols < 0) {
    fail(ErrorCode::invalid_argument, "values have 0 or more rows and columns, got {} x {}", rows,
         cols);
  }
  const std::int64_t element = row_bytes(dtype, 1);
  const std::int64_t used = checked_mul(cols, element, "bytes of a row");
  if (stride_ == 0) stride_ = used;
  if (stride_ < used || stride_ % element != 0) {
    fail(ErrorCode::invalid_argument,
         "the stride of {} columns of {} is at least {} bytes and a multiple of {}, got {}", cols,
         to_string(dtype), used, element, stride_bytes);
  }
  checked_mul(rows, stride_, "bytes of the values");
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element) != 0) {
    fail(ErrorCode::invalid_argument, "values of {} start at a multiple of {} bytes: copy them",
         to_string(dtype), element);
  }
  if (data == nullptr && rows > 0 && cols > 0) {
    fail(ErrorCode::invalid_argument, "null data for {} rows x {} columns", rows, cols);
  }
}

}  // namespace nearfield
