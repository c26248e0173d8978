#include "distance/product_scale.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kTaskRows = 1024;
constexpr double kLargestHalf = 65504;
// So that a factor for both, squared, is a float32 too.
constexpr int kMostExponent = 62;

double largest_of(MatrixView rows, std::vector<double>& decoded) {
  double largest = 0;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    decode_row(rows.dtype(), rows.row(i), rows.cols(), decoded.data());
    for (const double x : decoded) {
      if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    }
  }
  return largest;
}

// So that values up to `largest` are at most 2^target.
int exponent_for(double largest, int target) {
  int above = 0;  // largest < 2^above
  std::frexp(largest, &above);
  return largest == 0 ? 0 : std::clamp(target - above, -kMostExponent, kMostExponent);
}

}  // namespace

double largest_value(MatrixView rows, int threads) {
  if (rows.dtype() == DType::u8) return 255;
  if (rows.dtype() == DType::i8) return 128;
  const std::int64_t tasks = divide_up(rows.rows(), kTaskRows);
  std::vector<double> largest(static_cast<std::size_t>(tasks));
  run_tasks(tasks, threads, [&](std::int64_t task, int) {
    std::vector<double> decoded(static_cast<std::size_t>(rows.cols()));
    const std::int64_t first = task * kTaskRows;
    const std::int64_t count = std::min(kTaskRows, rows.rows() - first);
    largest[static_cast<std::size_t>(task)] = largest_of(rows.slice(first, count), decoded);
  });
  return tasks == 0 ? 0 : *std::max_element(largest.begin(), largest.end());
}

// Let scaled queries be at most 2^a, scaled rows 2^b; rounding to a half does not pass a power of
// two. In 32 bits, 2^15 for both: halves do not overflow, no sum comes near 2^128, and as few
// values as possible are so small that halves of them have fewer bits.
//
// In 16 bits, sums are halves. Let p be what is added to such a sum s, in one step or, in tensor
// cores, of several products. Rounding s + p to nearest moves the magnitude of s by at most 2|p|:
// where |p| is less than half a unit of s, not at all, else by |p| and half a unit at most. So no
// sum is larger than twice the magnitudes of its terms, 2 n 2^(a+b), whatever the order, and
//   a + b = floor(log2(65504 / 2 / n))
// is the largest for which none overflows. (A half overflows from 65520 on: the difference is more
// than what tensor cores lose of p.) Bytes of 128 columns: a = 3, b = 4, times 1/32 and 1/16.
ProductScale product_scale(double largest_query, double largest_row, std::int64_t cols,
                           ProductKind kind) {
  if (kind == ProductKind::i8) return {};
  int of_queries = 15;
  int of_rows = 15;
  if (kind == ProductKind::f16_acc16) {
    const double most = kLargestHalf / 2 / static_cast<double>(std::max<std::int64_t>(cols, 1));
    const int both = std::ilogb(most);
    of_queries = static_cast<int>(std::floor(both / 2.0));
    of_rows = both - of_queries;
  }
  return {exponent_for(largest_query, of_queries), exponent_for(largest_row, of_rows)};
}

// Products of halves are exact in 32 bits. Tensor cores add a sum and 4, 8 or 16 of them at a time:
// all are cut to the last bit of the largest, which costs each at most 2^-23 of it, and what they
// come to is cut to 32 bits, 2^-23 again (M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, Numerical
// behavior of NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021). The largest is at most the
// magnitudes of all terms, so that n terms in (n + 3) / 4 steps lose (n + 2 (n + 3) / 4) 2^-23 of
// them, less than (n + 2) 2^-22. One after another, rounded to nearest, they lose n 2^-24.
//
// In 16 bits, each step also rounds its sum to a half: to nearest, of a sum of at most twice the
// magnitudes (above), or towards zero, of at most the magnitudes. Both cost 2^-10 of them, and half
// the smallest half, 2^-25, or that one, 2^-24.
double product_error(ProductKind kind, std::int64_t cols, double magnitudes) {
  if (kind == ProductKind::i8) return 0;
  const double in_32 = static_cast<double>(cols + 2) * 0x1p-22 * magnitudes;
  if (kind == ProductKind::f16) return in_32;
  return in_32 + static_cast<double>(divide_up(cols, 4)) * (0x1p-10 * magnitudes + 0x1p-24);
}

}  // namespace nearfield
