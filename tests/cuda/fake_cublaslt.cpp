// As much of cuBLASLt as the plugin calls, on the host: what a product is asked for is done, column
// by column, as the real library is documented to.
#include <cublasLt.h>

#include <cstdint>

namespace {

struct Operation {
  cublasComputeType_t sums;
  bool transposed = false;
};

struct Layout {
  cudaDataType_t type;
  std::uint64_t rows;
  std::uint64_t cols;
  std::int64_t stride;
};

// The descriptors are opaque to callers.
template <class T, class Handle>
T& as(Handle handle) {
  return *reinterpret_cast<T*>(handle);
}

// Element (row, col), column-major.
template <class T>
T at(const void* matrix, const Layout& layout, std::uint64_t row, std::uint64_t col) {
  return static_cast<const T*>(matrix)[col * static_cast<std::uint64_t>(layout.stride) + row];
}

template <class Value, class Sum>
void multiply(const void* a, const Layout& of_a, const void* b, const Layout& of_b, void* d,
              const Layout& of_d, Sum alpha) {
  for (std::uint64_t row = 0; row < of_d.rows; ++row) {
    for (std::uint64_t col = 0; col < of_d.cols; ++col) {
      Sum sum = 0;
      for (std::uint64_t i = 0; i < of_b.rows; ++i) {
        sum += static_cast<Sum>(at<Value>(a, of_a, i, row)) *
               static_cast<Sum>(at<Value>(b, of_b, i, col));
      }
      static_cast<Sum*>(d)[col * static_cast<std::uint64_t>(of_d.stride) + row] = alpha * sum;
    }
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int made = 0;
  *handle = reinterpret_cast<cublasLtHandle_t>(&made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t sums,
                                        cudaDataType_t) {
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{sums});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t) {
  if (attribute != CUBLASLT_MATMUL_DESC_TRANSA) return CUBLAS_STATUS_NOT_SUPPORTED;
  as<Operation>(operation).transposed =
      *static_cast<const cublasOperation_t*>(value) == CUBLAS_OP_T;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete &as<Operation>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t cols,
                                          std::int64_t stride) {
  if (stride < static_cast<std::int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, cols, stride});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &as<Layout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &as<int>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

// None for an odd number of columns of what is found, as the real one has none for some shapes.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t found,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t*, int* count) {
  *count = as<Layout>(found).rows % 2 == 0 ? 1 : 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void*, const void*,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t) {
  const auto& layout_a = as<Layout>(of_a);
  const auto& layout_b = as<Layout>(of_b);
  const auto& layout_d = as<Layout>(of_d);
  if (!as<Operation>(operation).transposed || layout_a.rows != layout_b.rows ||
      layout_d.rows != layout_a.cols || layout_d.cols != layout_b.cols) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (as<Operation>(operation).sums == CUBLAS_COMPUTE_32I) {
    multiply<std::int8_t, std::int32_t>(a, layout_a, b, layout_b, d, layout_d,
                                        *static_cast<const std::int32_t*>(alpha));
  } else {
    multiply<_Float16, float>(a, layout_a, b, layout_b, d, layout_d,
                              *static_cast<const float*>(alpha));
  }
  return CUBLAS_STATUS_SUCCESS;
}
}
