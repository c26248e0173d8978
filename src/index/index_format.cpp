#include "index/index_format.hpp"

#include "core/fail.hpp"

namespace nearfield::index_format {

TensorType tensor_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return TensorType::f64;
    case DType::f32:
      return TensorType::f32;
    case DType::f16:
      return TensorType::f16;
    case DType::bf16:
      return TensorType::bf16;
    case DType::i8:
      return TensorType::i8;
    case DType::u8:
    case DType::bits:
      return TensorType::u8;
  }
  fail(ErrorCode::invalid_argument, "no type of number");
}

std::int64_t tensor_cols(const IndexSpec& spec) {
  return spec.dtype == DType::bits ? row_bytes(spec.dtype, spec.cols) : spec.cols;
}

}  // namespace nearfield::index_format
