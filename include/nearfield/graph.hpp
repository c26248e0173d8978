// The nearest neighbours of every row among the others.
#pragma once

#include <nearfield/context.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

struct GraphOptions {
  std::int64_t k = 10;
  MetricSpec metric = Metric::sqeuclidean;
  RowFilter filter = {};  // which rows may be neighbours; every row gets its own
  bool check_finite = false;
};

// Row i of the result belongs to row i; a row is never its own neighbour, a copy of it is.
Neighbors graph(const RowSource& rows, const GraphOptions& options = {},
                const Context& context = {});

inline Neighbors graph(MatrixView rows, const GraphOptions& options = {},
                       const Context& context = {}) {
  return graph(MatrixRows(rows), options, context);
}

// As plan_knn.
Plan plan_graph(const RowSource& rows, const GraphOptions& options = {},
                const Context& context = {});

}  // namespace nearfield
