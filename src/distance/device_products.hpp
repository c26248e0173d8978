// Products of many queries and rows in low precision, on a device.
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "distance/product_scale.hpp"

namespace nearfield {

// product: x y. inner_product: the key of it, -x y.
enum class ProductOutput : std::uint8_t { product, sqeuclidean, inner_product };

// Columns of u8 and i8 whose sums fit 32 bits.
std::int64_t most_byte_cols(DType queries, DType rows, ProductOutput output);

struct DeviceProducts {
  std::string device;
  ProductScale scale;
};

// found: queries x rows, float32, unscaled. Of f32, f16, u8 and i8; kind: one of the halves. A
// distance is that of the rounded vectors, |x|^2 + |y|^2 - 2xy, and may be less than 0. A product
// with a vector that has a NaN or an infinity is not finite.
DeviceProducts device_products(MatrixView queries, MatrixView rows, ProductKind kind,
                               ProductOutput output, const Context& context, Monitor& monitor,
                               float* found);

// Of u8 and i8, exact; ErrorCode::unsupported where a sum of so many columns may not fit.
DeviceProducts device_byte_products(MatrixView queries, MatrixView rows, ProductOutput output,
                                    const Context& context, Monitor& monitor, std::int32_t* found);

}  // namespace nearfield
