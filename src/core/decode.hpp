// Values of any number type as float64, exactly.
#pragma once

#include <cstdint>

#include <nearfield/matrix.hpp>

namespace nearfield {

// Writes `cols` float64 to `out`. Not for bits.
void decode_row(DType dtype, const std::byte* row, std::int64_t cols, double* out);

// False if the row has a NaN or an infinity. Always true for integers and bits.
bool row_is_finite(DType dtype, const std::byte* row, std::int64_t cols);

}  // namespace nearfield
