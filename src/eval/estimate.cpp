#include "eval/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nearfield {

Estimate wilson(double mean, double count) {
  constexpr double kZ = 1.959963984540054;  // 97.5 % of the normal distribution lie below
  const double z2 = kZ * kZ / count;
  const double middle = mean + z2 / 2;
  const double half = std::sqrt(z2 * (mean * (1 - mean) + z2 / 4));
  return {mean, std::max(0.0, (middle - half) / (1 + z2)),
          std::min(1.0, (middle + half) / (1 + z2))};
}

Estimate estimate(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const double squares =
      std::accumulate(values.begin(), values.end(), 0.0,
                      [](double total, double value) { return total + value * value; });
  // With a query that found nothing and one that found all: where all values are the same, they
  // say nothing about how much others would scatter.
  const double mean = (sum + 1) / (count + 2);
  const double variance = (squares + 1) / (count + 2) - mean * mean;
  return wilson(sum / count, count * mean * (1 - mean) / variance);
}

}  // namespace nearfield
