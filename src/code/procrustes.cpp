#include "code/procrustes.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// Of the largest entry, so much of the old rotation is added: nothing of X^T Y is singular then.
constexpr double kOfTheOld = 1e-9;

// Sweeps double the digits of what is orthogonal; 10 do for thousands of columns.
constexpr int kMostSweeps = 40;
constexpr double kOrthogonal = 1e-14;

constexpr std::int64_t kProductCols = 16;  // of a task

double product_of(const double* x, const double* y, std::int64_t count) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int part = 0; part < 8; ++part) sums[part] += x[i + part] * y[i + part];
  }
  for (; i < count; ++i) sums[i % 8] += x[i] * y[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

void turn(double* x, double* y, std::int64_t count, double cosine, double sine) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double old = x[i];
    x[i] = cosine * old - sine * y[i];
    y[i] = sine * old + cosine * y[i];
  }
}

// -(X^T Y): the kernel subtracts.
std::vector<double> negative_product(const FloatRows& rows, const float* targets,
                                     const CodeWork& work) {
  const std::int64_t cols = rows.cols;
  std::vector<double> product(static_cast<std::size_t>(cols * cols));
  std::vector<double> x;
  std::vector<double> y;
  for (std::int64_t first = 0; first < rows.count; first += kProductRows) {
    const std::int64_t count = std::min(kProductRows, rows.count - first);
    x.resize(static_cast<std::size_t>(count * cols));
    for (std::int64_t row = 0; row < count; ++row) {
      std::copy_n(rows.row(first + row), cols, x.data() + row * cols);
    }
    y.assign(targets + first * cols, targets + (first + count) * cols);
    run_tasks(divide_up(cols, kProductCols), work.threads, [&](std::int64_t task, int) {
      work.monitor.check();
      const std::int64_t begin = task * kProductCols;
      work.kernels.subtract_products(product.data() + begin * cols, cols,
                                     std::min(kProductCols, cols - begin), cols, x.data() + begin,
                                     1, cols, y.data(), cols, count);
    });
  }
  return product;
}

}  // namespace

std::vector<double> nearest_orthogonal(std::vector<double> matrix, std::int64_t size,
                                       const Monitor& monitor) {
  // The columns become U S, what turned them V.
  std::vector<double> turns(matrix.size());
  for (std::int64_t i = 0; i < size; ++i) turns[static_cast<std::size_t>(i * size + i)] = 1;
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (std::int64_t p = 0; p < size; ++p) {
      monitor.check();
      for (std::int64_t q = p + 1; q < size; ++q) {
        double* const x = matrix.data() + p * size;
        double* const y = matrix.data() + q * size;
        const double xx = product_of(x, x, size);
        const double yy = product_of(y, y, size);
        const double xy = product_of(x, y, size);
        if (std::abs(xy) <= kOrthogonal * std::sqrt(xx * yy)) continue;
        turned = true;
        const double zeta = (yy - xx) / (2 * xy);
        const double tangent =
            std::copysign(1.0, zeta) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double cosine = 1 / std::sqrt(1 + tangent * tangent);
        turn(x, y, size, cosine, cosine * tangent);
        turn(turns.data() + p * size, turns.data() + q * size, size, cosine, cosine * tangent);
      }
    }
  }
  // R = U V^T, column by column: R[i][j] = the sum over p of U[i][p] V[j][p].
  std::vector<double> result(matrix.size());
  for (std::int64_t p = 0; p < size; ++p) {
    monitor.check();
    const double* const u = matrix.data() + p * size;
    const double length = std::sqrt(product_of(u, u, size));
    for (std::int64_t j = 0; j < size; ++j) {
      const double scale = turns[static_cast<std::size_t>(p * size + j)] / length;
      double* const out = result.data() + j * size;
      for (std::int64_t i = 0; i < size; ++i) out[i] += scale * u[i];
    }
  }
  return result;
}

std::vector<float> best_rotation(const FloatRows& rows, const float* targets,
                                 const std::vector<float>& old, const CodeWork& work) {
  const std::int64_t cols = rows.cols;
  const std::vector<double> negative = negative_product(rows, targets, work);
  double largest = 0;
  for (const double value : negative) largest = std::max(largest, std::abs(value));
  const double of_the_old = largest > 0 ? kOfTheOld * largest : 1;
  std::vector<double> columns(negative.size());
  for (std::int64_t i = 0; i < cols; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      const auto at = static_cast<std::size_t>(i * cols + j);
      columns[static_cast<std::size_t>(j * cols + i)] = of_the_old * old[at] - negative[at];
    }
  }
  columns = nearest_orthogonal(std::move(columns), cols, work.monitor);
  std::vector<float> rotation(columns.size());
  for (std::int64_t i = 0; i < cols; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      rotation[static_cast<std::size_t>(i * cols + j)] =
          static_cast<float>(columns[static_cast<std::size_t>(j * cols + i)]);
    }
  }
  return rotation;
}

}  // namespace nearfield
