// How many queries are matched, and to the right row, as the thesis counts them (its section
// 5.4.1): of each query the nearest that was found, if it passes the ratio test, is the true
// nearest or is not. Recall: right matches over all matches; who has none does not count.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/native/gpu/gemm_sift/contenders.hpp"

namespace nearfield::bench {

using Ratio = std::optional<double>;
inline constexpr std::array<Ratio, 6> kRatios = {std::nullopt, 0.8, 0.9, 0.95, 0.99, 1.0};

// The first row that was found for a query, and how far both are.
struct FoundMatch {
  std::int64_t row;
  double first;
  double second;
};
using FoundMatches = std::vector<FoundMatch>;

// Of -x y: sqrt(2 + 2 (-x y) / norm^2), as if all norms were the same; 0 where that is negative.
FoundMatches matches_by_products(const std::vector<DeviceItem>& items, double norm);
// Of squared distances.
FoundMatches matches_by_squares(const std::vector<DeviceItem>& items);
FoundMatches matches_of(const Neighbors& found);

struct MatchCounts {
  std::int64_t correct = 0;
  std::int64_t wrong = 0;
  std::int64_t tied = 0;  // of the wrong: as near as the true nearest, which has a smaller number
  std::int64_t none = 0;  // rejected: first >= ratio * second
};

MatchCounts count_matches(const Problem& problem, const FoundMatches& found, Ratio ratio);

// A line for each ratio.
void report_recall(const Measuring& measuring, const Problem& problem, const std::string& series,
                   const FoundMatches& found, std::span<const Ratio> ratios = kRatios);

}  // namespace nearfield::bench
