// Descriptors, queries and their true neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/results.hpp>

namespace nearfield::bench {

inline constexpr std::int64_t kTrueNeighbours = 100;

struct SiftSet {
  Matrix base;
  Matrix queries;
  Neighbors truth;            // kTrueNeighbours of each query
  double exact_seconds = 0;   // that took
  std::vector<bool> matches;  // of a query: its nearest passes the ratio test, at 0.8
};

// Of a folder that bench/datasets made; empty: a few that are made up.
SiftSet read_sift_set(const std::string& folder);

}  // namespace nearfield::bench
