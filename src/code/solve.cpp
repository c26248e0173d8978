#include "code/solve.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// Rows that are eliminated together: 64 rows of a band of 32 columns fit L1.
constexpr std::int64_t kSolveBlock = 64;
// Columns of a task.
constexpr std::int64_t kSolveCols = 256;

// A = U^T U, block of rows by block of rows; U replaces A.
class Cholesky {
 public:
  Cholesky(double* a, std::int64_t size, const CodeKernels& kernels, int threads,
           const Monitor& monitor)
      : a_(a), size_(size), kernels_(kernels), threads_(threads), monitor_(monitor) {}

  void factor() {
    for (std::int64_t first = 0; first < size_; first += kSolveBlock) {
      const std::int64_t end = std::min(first + kSolveBlock, size_);
      factor_corner(first, end);
      for_columns(end, size_,
                  [&](std::int64_t from, std::int64_t to) { solve_panel(first, end, from, to); });
      const std::int64_t blocks = divide_up(size_ - end, kSolveBlock);
      run_tasks(blocks, threads_, [&](std::int64_t task, int) {
        monitor_.check();
        const std::int64_t row = end + task * kSolveBlock;
        const std::int64_t rows = std::min(kSolveBlock, size_ - row);
        kernels_.subtract_products(at(row, row), size_, rows, size_ - row, at(first, row), 1, size_,
                                   at(first, row), size_, end - first);
      });
    }
  }

  // U^T Y = B, then U X = Y.
  void solve(double* b, std::int64_t cols) {
    for_columns(0, cols, [&](std::int64_t from, std::int64_t to) {
      double* const part = b + from;
      const std::int64_t width = to - from;
      for (std::int64_t first = 0; first < size_; first += kSolveBlock) {
        monitor_.check();
        const std::int64_t end = std::min(first + kSolveBlock, size_);
        kernels_.subtract_products(part + first * cols, cols, end - first, width, at(0, first), 1,
                                   size_, part, cols, first);
        for (std::int64_t row = first; row < end; ++row) {
          kernels_.subtract_products(part + row * cols, cols, 1, width, at(first, row), 1, size_,
                                     part + first * cols, cols, row - first);
          divide(part + row * cols, width, *at(row, row));
        }
      }
      for (std::int64_t end = size_; end > 0; end = end - 1 - (end - 1) % kSolveBlock) {
        monitor_.check();
        const std::int64_t first = (end - 1) / kSolveBlock * kSolveBlock;
        kernels_.subtract_products(part + first * cols, cols, end - first, width, at(first, end),
                                   size_, 1, part + end * cols, cols, size_ - end);
        for (std::int64_t row = end - 1; row >= first; --row) {
          kernels_.subtract_products(part + row * cols, cols, 1, width, at(row, row + 1), size_, 1,
                                     part + (row + 1) * cols, cols, end - row - 1);
          divide(part + row * cols, width, *at(row, row));
        }
      }
    });
  }

 private:
  double* at(std::int64_t row, std::int64_t col) const { return a_ + row * size_ + col; }

  static void divide(double* values, std::int64_t count, double by) {
    for (std::int64_t i = 0; i < count; ++i) values[i] /= by;
  }

  template <class Run>
  void for_columns(std::int64_t begin, std::int64_t end, const Run& run) const {
    run_tasks(divide_up(end - begin, kSolveCols), threads_, [&](std::int64_t task, int) {
      monitor_.check();
      const std::int64_t from = begin + task * kSolveCols;
      run(from, std::min(from + kSolveCols, end));
    });
  }

  void factor_corner(std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row) {
      kernels_.subtract_products(at(row, row), size_, 1, end - row, at(first, row), 1, size_,
                                 at(first, row), size_, row - first);
      const double pivot = *at(row, row);
      if (!(pivot > 0)) {
        fail(ErrorCode::invalid_argument,
             "the system of {} equations is not positive definite: pivot {} is {}", size_, row,
             pivot);
      }
      divide(at(row, row), end - row, std::sqrt(pivot));
    }
  }

  void solve_panel(std::int64_t first, std::int64_t end, std::int64_t from, std::int64_t to) {
    for (std::int64_t row = first; row < end; ++row) {
      kernels_.subtract_products(at(row, from), size_, 1, to - from, at(first, row), 1, size_,
                                 at(first, from), size_, row - first);
      divide(at(row, from), to - from, *at(row, row));
    }
  }

  double* const a_;
  const std::int64_t size_;
  const CodeKernels& kernels_;
  const int threads_;
  const Monitor& monitor_;
};

}  // namespace

void solve_positive_definite(double* a, std::int64_t size, double* b, std::int64_t cols,
                             const CodeKernels& kernels, int threads, const Monitor& monitor) {
  Cholesky cholesky(a, size, kernels, threads, monitor);
  cholesky.factor();
  cholesky.solve(b, cols);
}

}  // namespace nearfield
