// A row of numbers as float64, and whether all of them are finite, in one pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <nearfield/isa.hpp>
#include <nearfield/matrix.hpp>

namespace nearfield {

// What decode_row writes and row_is_finite answers, with the vectors of the ISA: a query is loaded
// for each block in which rows survive for it, mostly one, and by those two that took longer than
// the key of the row (10,000 queries over 500,000 x 768 float32: 1.3 s of 7.5 beside the tiles).
using RowLoader = bool (*)(const std::byte* row, std::int64_t cols, double* out);

// By DType; null for bits.
using RowLoaders = std::array<RowLoader, kDTypeCount>;

const RowLoaders& row_loaders(Isa isa);

}  // namespace nearfield
