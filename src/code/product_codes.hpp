// Product quantization: a codebook for each part of the columns, by k-means; and the rotation that
// makes the parts fit the data, by turns with it (optimized product quantization, non-parametric).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <nearfield/quantize.hpp>

#include "code/code_work.hpp"
#include "code/codebooks.hpp"

namespace nearfield {

struct ProductCodes {
  Codebooks codebooks;          // zero outside the columns of each, after the rotation
  std::vector<float> rotation;  // y_j = the sum over i of x_i * rotation[i * cols + j]; or empty
  std::vector<double> errors;   // mean squared: of pq one, of opq one an iteration
};

// Codebook k has the columns from first_column(k) to first_column(k + 1).
inline std::int64_t first_column(std::int64_t codebook, int codebooks, std::int64_t cols) {
  return codebook * cols / codebooks;
}

ProductCodes train_product(const FloatRows& rows, const QuantizerOptions& options,
                           std::uint64_t seed, const CodeWork& work);

// With the rotation, before which it is the identity. `done` hears of each iteration's error.
ProductCodes train_rotated_product(const FloatRows& rows, const QuantizerOptions& options,
                                   std::uint64_t seed, const std::function<void(int, double)>& done,
                                   const CodeWork& work);

// Rows that are rotated already, or need not be.
void find_product_codes(const FloatRows& rows, const Codebooks& codebooks, std::uint8_t* codes,
                        const CodeWork& work);

// out = rows * rotation, or its transpose; rows of rows.cols floats.
enum class Turn { there, back };
void rotate(const FloatRows& rows, const std::vector<float>& rotation, Turn turn, float* out,
            const CodeWork& work);

// Codewords that are 0 outside the columns of their codebook.
Codebooks rotated_back(const Codebooks& codebooks, const std::vector<float>& rotation,
                       const CodeWork& work);

// What it takes beside its arguments.
std::int64_t rotate_bytes(std::int64_t rows, std::int64_t cols, int threads);

}  // namespace nearfield
