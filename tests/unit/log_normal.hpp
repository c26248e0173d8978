// Rows that bytes lose too much of.
#pragma once

#include <cmath>

#include <nearfield/matrix.hpp>

#include "core/random.hpp"

namespace nearfield {

// Gaussian directions, and lengths whose logarithms deviate by 1.
inline Matrix log_normal(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix matrix(DType::f32, rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    Random random(seed, static_cast<std::uint64_t>(i));
    const double length = std::exp(random.normal());
    auto* const row = reinterpret_cast<float*>(matrix.row(i));
    for (std::int64_t j = 0; j < cols; ++j) row[j] = static_cast<float>(length * random.normal());
  }
  return matrix;
}

}  // namespace nearfield
