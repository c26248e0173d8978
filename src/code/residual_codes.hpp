// Residual quantization: each codebook codes what those before it left; codes by beam search.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/quantize.hpp>

#include "code/code_work.hpp"
#include "code/codebooks.hpp"

namespace nearfield {

struct ResidualCodes {
  Codebooks codebooks;
  double error = 0;  // mean squared, of the rows trained on, coded greedily
};

// Rows lie close to each other.
ResidualCodes train_residual(const FloatRows& rows, const QuantizerOptions& options,
                             std::uint64_t seed, const CodeWork& work);

// The best `beam` sums are kept from codebook to codebook, by the distance that they leave; ties go
// to the better sum before, then the smaller code.
void find_residual_codes(const FloatRows& rows, const Codebooks& codebooks, int beam,
                         std::uint8_t* codes, const CodeWork& work);

// What that takes beside its arguments.
std::int64_t residual_codes_bytes(int codebooks, int codewords, std::int64_t cols, int beam,
                                  int threads);

}  // namespace nearfield
