#include "search/far_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/checked.hpp"

namespace nearfield {
namespace {

// The key of a product is cheap: below this, float32 with its sum of squares gains a third or less,
// and nothing where some rows are left. (Measured as in Tuning; distances gain 2 to 3 times.)
constexpr std::int64_t kLeastProductCols = 256;

bool is_usual(double sum) { return sum >= kLeastRough && sum <= kMostRough; }

// Without denormals, with which products take long.
float to_float(double value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? 0 : static_cast<float>(value);
}

bool float_holds(DType dtype) { return dtype != DType::f64 && dtype != DType::bits; }

}  // namespace

FarRows::FarRows(MetricSpec metric, DType queries, DType base, std::int64_t cols, Isa isa)
    : cosine_(metric.metric == Metric::cosine), cols_(cols) {
  const RoughKernels& kernels = rough_kernels(isa);
  of_floats_ = kernels.products[static_cast<std::size_t>(DType::f32)];
  if (!float_holds(queries)) return;
  const auto type = static_cast<std::size_t>(base);
  switch (metric.metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean:
      distances_ = kernels.distances[type];
      break;
    case Metric::inner_product:
      if (cols >= kLeastProductCols) products_ = kernels.products[type];
      break;
    case Metric::cosine:
      products_ = kernels.products[type];
      break;
    default:
      return;
  }
  query_.resize(static_cast<std::size_t>(round_up(cols, kRoughParts)));
}

bool FarRows::load(std::span<const double> query, double threshold) {
  if (!applies() || !std::isfinite(threshold)) return false;
  std::transform(query.begin(), query.end(), query_.begin(), to_float);
  return distances_ != nullptr ? load_distance(threshold) : load_product(threshold);
}

bool FarRows::load_distance(double threshold) {
  if (!is_usual(threshold)) return false;
  const auto most = static_cast<float>(threshold * (1 + rough_error(cols_)));
  most_ = std::nextafter(most, std::numeric_limits<float>::infinity());
  return true;
}

bool FarRows::load_product(double threshold) {
  float product = 0;
  float squares = 0;
  of_floats_({.query = query_.data(),
              .rows = reinterpret_cast<const std::byte*>(query_.data()),
              .stride = 0,
              .cols = cols_,
              .picks = nullptr,
              .count = 1,
              .sums = &product,
              .squares = &squares});
  if (!is_usual(squares)) return false;
  const double length = std::sqrt(squares);
  const double error = 2 * rough_error(cols_) * length;
  least_ = cosine_ ? 0 : -threshold;
  least_of_length_ =
      cosine_ ? -threshold * length - std::max(1.0, std::abs(threshold)) * error : -error;
  return true;
}

std::int64_t FarRows::near(const RowList& rows, std::uint32_t* out) const {
  std::array<float, kAtOnce> sums;
  std::array<float, kAtOnce> squares;
  const RoughJob job{.query = query_.data(),
                     .rows = rows.first,
                     .stride = rows.stride,
                     .cols = cols_,
                     .picks = rows.picks,
                     .count = rows.count,
                     .sums = sums.data(),
                     .squares = squares.data()};
  std::int64_t found = 0;
  const auto count = static_cast<std::size_t>(rows.count);
  if (distances_ != nullptr) {
    distances_(job);
    for (std::size_t i = 0; i < count; ++i) {
      out[found] = static_cast<std::uint32_t>(i);
      found += sums[i] > most_ ? 0 : 1;
    }
  } else {
    products_(job);
    for (std::size_t i = 0; i < count; ++i) {
      const double least = least_ + least_of_length_ * std::sqrt(static_cast<double>(squares[i]));
      out[found] = static_cast<std::uint32_t>(i);
      found += is_usual(squares[i]) && sums[i] < least ? 0 : 1;
    }
  }
  return found;
}

}  // namespace nearfield
