// Systems of linear equations of training: some thousand unknowns.
#pragma once

#include <cstdint>

#include "code/code_kernels.hpp"
#include "core/monitor.hpp"

namespace nearfield {

// Solves A X = B by Cholesky's method, where A is symmetric and positive definite: size x size, row
// by row, of which the upper half is read and overwritten. B, size x cols, becomes X. The same bits
// on any number of threads. Throws invalid_argument where A is not positive definite.
void solve_positive_definite(double* a, std::int64_t size, double* b, std::int64_t cols,
                             const CodeKernels& kernels, int threads, const Monitor& monitor);

}  // namespace nearfield
