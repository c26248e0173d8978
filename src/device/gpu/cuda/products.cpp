#include "device/gpu/cuda/products.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include <fmt/format.h>

namespace nearfield::gpu {
namespace {

// What is used of the library; null all of it where there is none.
struct Library {
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtMatmulDescCreate) make_operation = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) set_operation = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) drop_operation = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) make_layout = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) drop_layout = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) make_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) drop_preference = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
  decltype(&::cublasLtMatmul) multiply = nullptr;
};

template <class Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

Library load() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  Library found;
  const bool whole = library != nullptr && find(library, "cublasLtCreate", found.create) &&
                     find(library, "cublasLtMatmulDescCreate", found.make_operation) &&
                     find(library, "cublasLtMatmulDescSetAttribute", found.set_operation) &&
                     find(library, "cublasLtMatmulDescDestroy", found.drop_operation) &&
                     find(library, "cublasLtMatrixLayoutCreate", found.make_layout) &&
                     find(library, "cublasLtMatrixLayoutDestroy", found.drop_layout) &&
                     find(library, "cublasLtMatmulPreferenceCreate", found.make_preference) &&
                     find(library, "cublasLtMatmulPreferenceSetAttribute", found.set_preference) &&
                     find(library, "cublasLtMatmulPreferenceDestroy", found.drop_preference) &&
                     find(library, "cublasLtMatmulAlgoGetHeuristic", found.choose) &&
                     find(library, "cublasLtMatmul", found.multiply);
  return whole ? found : Library();
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

// One a card, made by the first product there. Null if it could not be.
cublasLtHandle_t handle(int card) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  const std::lock_guard lock(mutex);
  const auto [made, is_new] = handles.try_emplace(card, nullptr);
  if (is_new && library().create(&made->second) != CUBLAS_STATUS_SUCCESS) made->second = nullptr;
  return made->second;
}

struct Types {
  cudaDataType_t values;
  cudaDataType_t found;
  cublasComputeType_t sums;
};

Types types_of(Product::Values values) {
  return values == Product::Values::i8 ? Types{CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I}
                                       : Types{CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
}

// Descriptors of one product. cuBLAS is column-major, so that what is row-major here is transposed
// there: found (rights x lefts) = right (width x rights, taken transposed) x left (width x lefts).
class Description {
 public:
  explicit Description(const Product& product) {
    const Types types = types_of(product.values);
    const auto width = static_cast<std::uint64_t>(product.width);
    const auto lefts = static_cast<std::uint64_t>(product.lefts);
    const auto rights = static_cast<std::uint64_t>(product.rights);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const std::uint64_t no_workspace = 0;
    valid_ = done(library().make_operation(&operation, types.sums, types.found)) &&
             done(library().set_operation(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                          sizeof(transposed))) &&
             done(library().make_layout(&right, types.values, width, rights, product.width)) &&
             done(library().make_layout(&left, types.values, width, lefts, product.width)) &&
             done(library().make_layout(&found, types.found, rights, lefts, product.rights)) &&
             done(library().make_preference(&preference)) &&
             done(library().set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &no_workspace, sizeof(no_workspace)));
  }
  ~Description() {
    if (preference != nullptr) library().drop_preference(preference);
    for (cublasLtMatrixLayout_t layout : {right, left, found}) {
      if (layout != nullptr) library().drop_layout(layout);
    }
    if (operation != nullptr) library().drop_operation(operation);
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  bool valid() const { return valid_; }

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t right = nullptr;
  cublasLtMatrixLayout_t left = nullptr;
  cublasLtMatrixLayout_t found = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

 private:
  static bool done(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }

  bool valid_ = false;
};

}  // namespace

bool multiply_by_library(int card, const Product& product, const ProductMemory& memory,
                         cudaStream_t stream) {
  if (library().multiply == nullptr) return false;
  const cublasLtHandle_t used = handle(card);
  if (used == nullptr) return false;
  const Description description(product);
  if (!description.valid()) return false;
  cublasLtMatmulHeuristicResult_t chosen{};
  int count = 0;
  if (library().choose(used, description.operation, description.right, description.left,
                       description.found, description.found, description.preference, 1, &chosen,
                       &count) != CUBLAS_STATUS_SUCCESS ||
      count == 0) {
    return false;
  }
  // Of the type of the sums: both are four bytes.
  const bool bytes = product.values == Product::Values::i8;
  const std::int32_t one_integer = 1;
  const float one_float = 1;
  const std::int32_t zero = 0;
  const void* const one = bytes ? static_cast<const void*>(&one_integer) : &one_float;
  const cublasStatus_t status =
      library().multiply(used, description.operation, one, memory.right, description.right,
                         memory.left, description.left, &zero, memory.found, description.found,
                         memory.found, description.found, &chosen.algo, nullptr, 0, stream);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("cuBLASLt refused a product of {} x {} rows of {} that it had a kernel "
                    "for: it says {}",
                    product.lefts, product.rights, product.width, static_cast<int>(status)));
  }
  return true;
}

}  // namespace nearfield::gpu
