// The closest pairs of rows: within one set, or between two.
#pragma once

#include <cstdint>
#include <optional>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

// At least one of radius and count; with both, the closest ones as far as the radius goes.
struct PairsOptions {
  // As in WithinOptions: inclusive, in what the metric reports.
  std::optional<double> radius = {};

  // The so many closest. Where pairs are equally far, those with the smaller first id, then with
  // the smaller second id.
  std::optional<std::int64_t> count = {};

  MetricSpec metric = Metric::sqeuclidean;
  bool check_finite = false;  // as in KnnOptions
};

// Pairs of two different rows of one set, each once: first < second.
Pairs pairs(const RowSource& rows, const PairsOptions& options, const Context& context = {});

// Pairs of a row of `first` and a row of `second`. All of `second` is read for each batch of
// `first`, so that the smaller set is best the first.
Pairs pairs(const RowSource& first, const RowSource& second, const PairsOptions& options,
            const Context& context = {});

inline Pairs pairs(MatrixView rows, const PairsOptions& options, const Context& context = {}) {
  return pairs(MatrixRows(rows), options, context);
}

inline Pairs pairs(MatrixView first, MatrixView second, const PairsOptions& options,
                   const Context& context = {}) {
  return pairs(MatrixRows(first), MatrixRows(second), options, context);
}

// What pairs would do, without doing it; without a count, its result_bytes are 0.
Plan plan_pairs(const RowSource& rows, const PairsOptions& options, const Context& context = {});
Plan plan_pairs(const RowSource& first, const RowSource& second, const PairsOptions& options,
                const Context& context = {});

}  // namespace nearfield
