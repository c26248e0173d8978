// Products of many queries and rows in tiles that fit the memory of a device.
#pragma once

#include <cstddef>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "device/gpu/gpu.hpp"
#include "distance/gpu/product_step.hpp"

namespace nearfield {

// found: queries x rows, of four bytes. Tiles are as small as the context's limit asks for, and
// smaller where the device has no memory for them.
void run_product_tiles(gpu::Device& device, MatrixView queries, MatrixView rows,
                       const ProductStep& step, const Context& context, Monitor& monitor,
                       std::byte* found);

}  // namespace nearfield
