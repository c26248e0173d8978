// Which queries have their nearest among the first n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <nearfield/results.hpp>

namespace nearfield::bench {

inline constexpr std::int64_t kMostFound = 100;

// Of each query: whether the nearest, or one as near, is among the first n.
inline std::vector<bool> hits_of(const Neighbors& found, const Neighbors& truth, std::int64_t n) {
  std::vector<bool> hits;
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const auto first = found.ids_of(query).first(static_cast<std::size_t>(n));
    const auto keys = truth.keys_of(query);
    const auto ids = truth.ids_of(query);
    bool hit = false;
    for (std::size_t i = 0; i < keys.size() && keys[i] == keys[0] && !hit; ++i) {
      hit = std::ranges::find(first, ids[i]) != first.end();
    }
    hits.push_back(hit);
  }
  return hits;
}

// Queries that are hits of the first and not of the second.
inline std::int64_t hits_beyond(const std::vector<bool>& first, const std::vector<bool>& second) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < first.size(); ++i) count += first[i] && !second[i] ? 1 : 0;
  return count;
}

}  // namespace nearfield::bench
