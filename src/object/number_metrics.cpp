// Metrics of sets and of vectors of numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <nearfield/object_metrics.hpp>

#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "distance/power_of.hpp"
#include "object/hash_of_numbers.hpp"

namespace nearfield {
namespace {

void check_sizes(std::string_view metric, std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) {
    fail(ErrorCode::invalid_argument,
         "'{}' of vectors of {} and of {} numbers: give equally long ones", metric, a.size(),
         b.size());
  }
}

double square_between(const double* a, const double* b, std::int64_t columns) {
  double sum = 0;
  for (std::int64_t i = 0; i < columns; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// What a vector is multiplied by, so that no square overflows or vanishes, and its length then. Of
// usual numbers the factor is 1; a power of two rounds nothing.
struct ScaledLength {
  double factor;
  double length;
};

ScaledLength length_of(std::span<const double> a) {
  const auto squares = [&](double factor) {
    double sum = 0;
    for (const double value : a) sum += (value * factor) * (value * factor);
    return sum;
  };
  const double usual = squares(1);
  if (usual > 0x1p1000) return {0x1p-600, std::sqrt(squares(0x1p-600))};
  if (usual < 0x1p-900) return {0x1p600, std::sqrt(squares(0x1p600))};
  return {1, std::sqrt(usual)};
}

// How far at most a point of one is from the nearest of the other, squared.
double farthest_nearest(std::span<const double> from, std::span<const double> to,
                        std::int64_t columns) {
  double farthest = 0;
  const auto step = static_cast<std::size_t>(columns);
  for (std::size_t i = 0; i < from.size(); i += step) {
    double nearest = kInfinity;
    for (std::size_t j = 0; j < to.size() && nearest > farthest; j += step) {
      nearest = std::min(nearest, square_between(&from[i], &to[j], columns));
    }
    farthest = std::max(farthest, nearest);
  }
  return farthest;
}

}  // namespace

double JaccardDistance::operator()(std::span<const std::uint64_t> a,
                                   std::span<const std::uint64_t> b) const {
  for (const auto set : {a, b}) {
    if (std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()) != set.end()) {
      fail(ErrorCode::invalid_argument, "the members of a set do not rise: sort them, each once");
    }
  }
  std::size_t both = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    both += a[i] == b[j];
    const bool first = a[i] <= b[j];
    j += b[j] <= a[i];
    i += first;
  }
  const std::size_t either = a.size() + b.size() - both;
  return either == 0 ? 0 : static_cast<double>(either - both) / static_cast<double>(either);
}

// By the half angle, which keeps its digits where a cosine is near 1.
double AngularDistance::operator()(std::span<const double> a, std::span<const double> b) const {
  check_sizes(name, a, b);
  const auto [factor_a, length_a] = length_of(a);
  const auto [factor_b, length_b] = length_of(b);
  if (length_a == 0 || length_b == 0) return length_a == length_b ? 0 : std::numbers::pi / 2;
  double difference = 0;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i] * factor_a / length_a;
    const double y = b[i] * factor_b / length_b;
    difference += (x - y) * (x - y);
    sum += (x + y) * (x + y);
  }
  return 2 * std::atan2(std::sqrt(difference), std::sqrt(sum));
}

LpDistance::LpDistance(double exponent) : p(exponent), name(fmt::format("lp:{}", exponent)) {
  if (!(exponent >= 1)) {  // so written, it refuses NaN
    fail(ErrorCode::invalid_argument, "the exponent of lp must be 1 or more for a metric, got {}",
         exponent);
  }
}

double LpDistance::operator()(std::span<const double> a, std::span<const double> b) const {
  check_sizes(name, a, b);
  // Of the largest, so that no power overflows. NaN, if there is one, and it stays.
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (largest < difference || std::isnan(difference)) largest = difference;
  }
  if (largest == 0 || std::isinf(p)) return largest;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double part = std::abs(a[i] - b[i]) / largest;
    sum += p == 1 ? part : p == 2 ? part * part : power_of(part, p);
  }
  return largest * (p == 1 ? sum : p == 2 ? std::sqrt(sum) : power_of(sum, 1 / p));
}

HausdorffDistance::HausdorffDistance(std::int64_t columns_of_a_point)
    : columns(columns_of_a_point), name(fmt::format("hausdorff:{}", columns_of_a_point)) {
  if (columns < 1) {
    fail(ErrorCode::invalid_argument, "a point has 1 number or more, got {}", columns);
  }
}

double HausdorffDistance::operator()(std::span<const double> a, std::span<const double> b) const {
  for (const auto set : {a, b}) {
    if (set.empty() || std::ssize(set) % columns != 0) {
      fail(ErrorCode::invalid_argument, "'{}' of {} numbers: give a point or more of {} each", name,
           set.size(), columns);
    }
  }
  return std::sqrt(std::max(farthest_nearest(a, b, columns), farthest_nearest(b, a, columns)));
}

QuadraticFormDistance::QuadraticFormDistance(std::span<const double> matrix)
    : columns(std::llround(std::sqrt(static_cast<double>(matrix.size())))),
      factor(matrix.begin(), matrix.end()),
      name(fmt::format("quadratic form:{}:{}", columns, hash_of_numbers(matrix))) {
  if (matrix.empty() || columns * columns != std::ssize(matrix)) {
    fail(ErrorCode::invalid_argument, "a matrix of {} numbers is not square", matrix.size());
  }
  const auto at = [&](std::int64_t row, std::int64_t col) -> double& {
    return factor[static_cast<std::size_t>(row * columns + col)];
  };
  for (std::int64_t row = 0; row < columns; ++row) {
    for (std::int64_t col = 0; col < row; ++col) {
      if (matrix[static_cast<std::size_t>(row * columns + col)] !=
          matrix[static_cast<std::size_t>(col * columns + row)]) {
        fail(ErrorCode::invalid_argument, "the matrix is not symmetric at row {}, column {}", row,
             col);
      }
    }
  }
  // Cholesky's factor, row by row.
  for (std::int64_t row = 0; row < columns; ++row) {
    for (std::int64_t col = 0; col <= row; ++col) {
      double rest = at(row, col);
      for (std::int64_t k = 0; k < col; ++k) rest -= at(row, k) * at(col, k);
      if (row == col && !(rest > 0)) {
        fail(ErrorCode::invalid_argument,
             "the matrix is not positive definite: at row {} {} is left of its diagonal", row,
             rest);
      }
      at(row, col) = row == col ? std::sqrt(rest) : rest / at(col, col);
    }
    for (std::int64_t col = row + 1; col < columns; ++col) at(row, col) = 0;
  }
}

// The length of L' (x - y).
double QuadraticFormDistance::operator()(std::span<const double> a,
                                         std::span<const double> b) const {
  check_sizes(name, a, b);
  if (std::ssize(a) != columns) {
    fail(ErrorCode::invalid_argument, "'{}' of {} columns, got a vector of {}", name, columns,
         a.size());
  }
  double sum = 0;
  for (std::int64_t col = 0; col < columns; ++col) {
    double turned = 0;
    for (std::int64_t row = col; row < columns; ++row) {
      const auto i = static_cast<std::size_t>(row);
      turned += factor[static_cast<std::size_t>(row * columns + col)] * (a[i] - b[i]);
    }
    sum += turned * turned;
  }
  return std::sqrt(sum);
}

SignatureQuadraticFormDistance::SignatureQuadraticFormDistance(std::int64_t columns_of_a_point,
                                                               double similarity_alpha)
    : columns(columns_of_a_point),
      alpha(similarity_alpha),
      name(fmt::format("signature quadratic form:{}:{}", columns_of_a_point, similarity_alpha)) {
  if (columns < 1 || !(alpha > 0)) {
    fail(ErrorCode::invalid_argument,
         "a point has 1 number or more and alpha is above 0, got {} and {}", columns, alpha);
  }
}

double SignatureQuadraticFormDistance::operator()(std::span<const double> a,
                                                  std::span<const double> b) const {
  const std::int64_t row = columns + 1;
  if (std::ssize(a) % row != 0 || std::ssize(b) % row != 0) {
    fail(ErrorCode::invalid_argument,
         "'{}' of {} and {} numbers: give rows of {}, the weight first", name, a.size(), b.size(),
         row);
  }
  const auto form = [&](std::span<const double> x, std::span<const double> y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(row)) {
      for (std::size_t j = 0; j < y.size(); j += static_cast<std::size_t>(row)) {
        const double square = square_between(&x[i] + 1, &y[j] + 1, columns);
        sum += x[i] * y[j] * std::exp(-alpha * square);
      }
    }
    return sum;
  };
  return std::sqrt(std::max(form(a, a) + form(b, b) - 2 * form(a, b), 0.0));
}

}  // namespace nearfield
