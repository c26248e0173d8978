// Products by cuBLASLt, which has a kernel for every card. It is loaded when the first product is
// asked for: 500 MB that nothing else needs, and a machine need not have it.
#pragma once

#include <cublasLt.h>

#include "device/gpu/gpu.hpp"

namespace nearfield::gpu {

// Places of the buffers of a product.
struct ProductMemory {
  const void* left;
  const void* right;
  void* found;
};

// On the card, which is the thread's current one. False if there is no library, or it has no kernel
// for the shape. It is given no memory of its own to work in: only kernels that need none are asked
// for.
bool multiply_by_library(int card, const Product& product, const ProductMemory& memory,
                         cudaStream_t stream);

}  // namespace nearfield::gpu
