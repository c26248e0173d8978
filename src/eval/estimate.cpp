#include "eval/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace nearfield {

Estimate wilson(double mean, double count) {
  constexpr double kZ = 1.959963984540054;  // 97.5 % of the normal distribution lie below
  const double z2 = kZ * kZ / count;
  const double middle = mean + z2 / 2;
  const double half = std::sqrt(z2 * (mean * (1 - mean) + z2 / 4));
  return {mean, std::max(0.0, (middle - half) / (1 + z2)),
          std::min(1.0, (middle + half) / (1 + z2))};
}

Estimate estimate(std::span<const Share> shares) {
  const auto count = static_cast<double>(shares.size());
  // Whole numbers first: 9665 of 10000 must be the 0.9665 that a user compares it with.
  std::map<std::int64_t, std::int64_t> right_of;
  double squares = 0;
  for (const auto& [right, all] : shares) {
    right_of[all] += right;
    const double share = static_cast<double>(right) / static_cast<double>(all);
    squares += share * share;
  }
  double mean = 0;
  for (const auto& [all, right] : right_of) {
    mean += static_cast<double>(right) / (static_cast<double>(all) * count);
  }
  // With a query that found nothing and one that found all: where all shares are the same, they
  // say nothing about how much others would scatter.
  const double wider_mean = (mean * count + 1) / (count + 2);
  const double variance = (squares + 1) / (count + 2) - wider_mean * wider_mean;
  return wilson(mean, count * wider_mean * (1 - wider_mean) / variance);
}

}  // namespace nearfield
