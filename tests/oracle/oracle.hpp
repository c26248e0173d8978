// The slow, obvious definition of an exact search: every key, sorted in full.
//
// Written from DESIGN "Contracts" and results.hpp alone. It shares no code with the library: it
// decodes the number types by arithmetic and uses nothing of include/ but data types and the inline
// accessors of MatrixView. A mistake made twice would have to be made in two different programs.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/knn.hpp>
#include <nearfield/match.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/pairs.hpp>

namespace nearfield::oracle {

// What Neighbors must hold: row-major, queries x k.
struct Answer {
  std::int64_t queries = 0;
  std::int64_t k = 0;
  std::vector<std::int64_t> ids;
  std::vector<double> keys;
  std::vector<float> distances;
  std::vector<std::int64_t> counts;
};

// False for a metric that was added to metrics.def and not yet to the oracle.
bool knows(MetricSpec metric);

// Takes valid arguments only (errors are the library's to find) and ignores check_finite.
Answer knn(MatrixView queries, MatrixView base, const KnnOptions& options);

// What Ranges must hold.
struct RangeAnswer {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> ids;
  std::vector<double> keys;
  std::vector<float> distances;
};

// Likewise; k is not looked at.
RangeAnswer within(MatrixView queries, MatrixView base, double radius, const KnnOptions& options);

// What Pairs must hold.
struct PairAnswer {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  std::vector<double> keys;
  std::vector<float> distances;
};

// one_set: both are the same rows, and each pair comes once.
PairAnswer pairs(MatrixView first, MatrixView second, bool one_set, const PairsOptions& options);

// What mutual must find.
PairAnswer mutual(MatrixView first, MatrixView second, bool one_set, MetricSpec metric);

// What match must find, by what metrics report: MatchDistance is not looked at.
PairAnswer match(MatrixView first, MatrixView second, const MatchOptions& options);

}  // namespace nearfield::oracle
