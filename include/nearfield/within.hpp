// Every row within a radius of each query.
#pragma once

#include <nearfield/context.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

struct WithinOptions {
  // Inclusive, in what the metric reports: a row is found if its reported value, in float64, is at
  // most this; for a similarity, at least this. For lp also if its key is at most radius^p: the
  // 5th root of 2^5 rounds to a little more than 2.
  double radius = 0;
  MetricSpec metric = Metric::sqeuclidean;
  RowFilter filter = {};
  bool exclude_self = false;               // as in KnnOptions
  std::span<const std::int64_t> ids = {};  // likewise
  bool check_finite = false;
};

// How many there are is not known before: where a memory limit is set and the results outgrow it,
// the search ends with ErrorCode::memory_limit and says how many it had found.
Ranges within(const RowSource& queries, const RowSource& base, const WithinOptions& options,
              const Context& context = {});

inline Ranges within(MatrixView queries, MatrixView base, const WithinOptions& options,
                     const Context& context = {}) {
  return within(MatrixRows(queries), MatrixRows(base), options, context);
}

// What within would do, without doing it; its result_bytes hold the offsets alone. Throws what
// within would throw about shapes, types, radius and memory.
Plan plan_within(const RowSource& queries, const RowSource& base, const WithinOptions& options,
                 const Context& context = {});

}  // namespace nearfield
