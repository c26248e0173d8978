#include "bench/native/gpu/gemm_sift/recall.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace nearfield::bench {
namespace {

template <class Distance>
FoundMatches matches_of_items(const std::vector<DeviceItem>& items, const Distance& distance) {
  FoundMatches found;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    found.push_back({static_cast<std::int64_t>(static_cast<std::uint32_t>(items[i])),
                     distance(value_of(items[i])), distance(value_of(items[i + 1]))});
  }
  return found;
}

}  // namespace

FoundMatches matches_by_products(const std::vector<DeviceItem>& items, double norm) {
  return matches_of_items(items, [&](double negated_product) {
    return std::sqrt(std::max(2 + 2 * negated_product / (norm * norm), 0.0));
  });
}

FoundMatches matches_by_squares(const std::vector<DeviceItem>& items) {
  return matches_of_items(items, [](double square) { return std::sqrt(square); });
}

FoundMatches matches_of(const Neighbors& found) {
  FoundMatches matches;
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const auto keys = found.keys_of(query);
    matches.push_back({found.ids_of(query)[0], std::sqrt(keys[0]), std::sqrt(keys[1])});
  }
  return matches;
}

MatchCounts count_matches(const Problem& problem, const FoundMatches& found, Ratio ratio) {
  MatchCounts counts;
  for (std::int64_t query = 0; query < std::ssize(found); ++query) {
    const FoundMatch& match = found[place(query)];
    const std::int64_t nearest = problem.truth.nearest.ids_of(query)[0];
    if (ratio && match.first >= *ratio * match.second) {
      ++counts.none;
    } else if (match.row == nearest) {
      ++counts.correct;
    } else {
      ++counts.wrong;
      counts.tied += square_of(problem.descriptors, query, match.row) ==
                     square_of(problem.descriptors, query, nearest);
    }
  }
  return counts;
}

void report_recall(const Measuring& measuring, const Problem& problem, const std::string& series,
                   const FoundMatches& found, std::span<const Ratio> ratios) {
  for (const Ratio ratio : ratios) {
    const MatchCounts counts = count_matches(problem, found, ratio);
    Measuring::print(measuring.line()
                         .add("data", problem.descriptors.data)
                         .add("series", series)
                         .add("q", problem.descriptors.queries.rows())
                         .add("n", problem.descriptors.rows.rows())
                         .add("ratio", ratio.value_or(0))
                         .add("correct", counts.correct)
                         .add("wrong", counts.wrong)
                         .add("tied", counts.tied)
                         .add("none", counts.none));
  }
}

}  // namespace nearfield::bench
