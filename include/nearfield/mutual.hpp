// Pairs of rows that are each other's nearest.
#pragma once

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

struct MutualOptions {
  MetricSpec metric = Metric::sqeuclidean;
  bool check_finite = false;  // as in KnnOptions
};

// A row of `first` and a row of `second`, each the other's nearest; of rows that are equally near,
// the nearest is the one with the smaller id. Every row is in at most one pair. One pass serves
// both directions where both sets fit the memory and tiles compare distances, or products of bytes.
Pairs mutual(const RowSource& first, const RowSource& second, const MutualOptions& options = {},
             const Context& context = {});

// Two different rows of one set, each the other's nearest: first < second.
Pairs mutual(const RowSource& rows, const MutualOptions& options = {}, const Context& context = {});

inline Pairs mutual(MatrixView first, MatrixView second, const MutualOptions& options = {},
                    const Context& context = {}) {
  return mutual(MatrixRows(first), MatrixRows(second), options, context);
}

inline Pairs mutual(MatrixView rows, const MutualOptions& options = {},
                    const Context& context = {}) {
  return mutual(MatrixRows(rows), options, context);
}

// What mutual would do, without doing it; of two passes, the first. Of two sets a pair counts
// twice: it is asked about from both sides.
Plan plan_mutual(const RowSource& first, const RowSource& second, const MutualOptions& options = {},
                 const Context& context = {});
Plan plan_mutual(const RowSource& rows, const MutualOptions& options = {},
                 const Context& context = {});

}  // namespace nearfield
