#include "filter/rounded/rounding.hpp"

#include <cmath>
#include <utility>

#include "core/byte_type.hpp"
#include "filter/rounded/rounding_kernel.hpp"
#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {
namespace {

// 128 * 128 * cols, what is added to it, and the sum of both must stay below kLargestProduct.
constexpr std::int64_t kMostCols = 16'384;
static_assert(128 * 128 * kMostCols * 3 < std::int64_t{kLargestProduct});

}  // namespace

void BaseRounding::centre_on(std::vector<float> point) {
  centre = std::move(point);
  double squares = 0;
  for (const float value : centre) squares += static_cast<double>(value) * value;
  centre_length = std::sqrt(squares);
}

std::optional<double> scale_of(const BaseRounding& rounding, std::span<const double> decoded) {
  const RoundingKernel& kernel = rounding_kernel(rounding.isa);
  const double length = std::sqrt(kernel.sum_of_squares(decoded.data(), std::ssize(decoded)));
  // A vector of zeros has no direction; it has a place and products.
  const bool zero = length == 0 && !rounding.unit;
  if (!zero && !is_usual_length(length)) return std::nullopt;
  return rounding.unit ? 1 / length : 1;
}

double most_distance(const BaseRounding& rounding, double threshold) {
  // The definition's sum has an error of at most (cols + 8) 2^-53 of itself.
  const double relative = static_cast<double>(rounding.cols + 16) * 0x1p-52;
  const double squared = rounding.unit ? 2 + 2 * (threshold + relative) : threshold;
  return squared < 0 ? -1 : std::sqrt(squared) * (1 + relative);
}

std::optional<BaseRounding> choose_rounding(MetricSpec metric, DType queries, DType base,
                                            std::int64_t cols, Isa isa) {
  if (base == DType::bits || cols == 0 || cols > kMostCols) return std::nullopt;
  BaseRounding rounding;
  rounding.base = base;
  rounding.queries = queries;
  rounding.cols = cols;
  rounding.isa = isa;
  rounding.lossless = is_byte(base) && queries == base;
  switch (metric.metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean:
      return rounding;
    case Metric::cosine:
      rounding.lossless = false;
      rounding.unit = true;
      return rounding;
    case Metric::inner_product:
      rounding.form = Form::product;
      return rounding;
    default:
      return std::nullopt;
  }
}

}  // namespace nearfield
