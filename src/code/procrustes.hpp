// The rotation that takes one set of vectors nearest to another.
#pragma once

#include <cstdint>
#include <vector>

#include "code/code_work.hpp"

namespace nearfield {

// Rows that best_rotation adds in one go: of these and of their targets it has doubles.
inline constexpr std::int64_t kProductRows = 4096;

// The orthogonal R for which the sum of |x R - y|^2 is least: U V^T of the singular value
// decomposition of X^T Y. Where that leaves a choice, R stays near `old`. rows.cols x rows.cols.
std::vector<float> best_rotation(const FloatRows& rows, const float* targets,
                                 const std::vector<float>& old, const CodeWork& work);

// The orthogonal matrix nearest to a square one without a singular value of 0, by one-sided Jacobi
// rotations. Column by column: matrix[j * size + i] is row i of column j.
std::vector<double> nearest_orthogonal(std::vector<double> matrix, std::int64_t size,
                                       const Monitor& monitor);

}  // namespace nearfield
