// The codebooks that come nearest to vectors whose codes are known: least squares.
#pragma once

#include <cstdint>

#include "code/code_kernels.hpp"
#include "code/codebooks.hpp"
#include "core/monitor.hpp"

namespace nearfield {

// Minimises the sum of |x - its codewords|^2, plus kNearOld times what codewords move: so that a
// codeword which nobody uses stays, and constants, which codebooks could pass to each other without
// end, stay where they are. Of one codebook the used codewords become means. The error never grows.
//
// The equations come from direct sums (LSQ++): how often two codes meet, and the sum of the rows of
// each code; the matrix of codes is never made.
inline constexpr double kNearOld = 1e-2;

class LsqDevice;

// On a device, if there is one, the sums are made: the same bits. Of two codebooks or more.
void update_codebooks(const float* rows, std::int64_t count, const std::uint8_t* codes,
                      Codebooks& codebooks, const CodeKernels& kernels, int threads,
                      const Monitor& monitor, LsqDevice* device = nullptr);

// What it takes beside its arguments.
std::int64_t codebook_update_bytes(int codebooks, int codewords, std::int64_t cols);

}  // namespace nearfield
