#include <nearfield/graph.hpp>

namespace nearfield {

Neighbors graph(const RowSource& rows, const GraphOptions& options, const Context& context) {
  return knn(rows, rows,
             {.k = options.k,
              .metric = options.metric,
              .filter = options.filter,
              .exclude_self = true,
              .check_finite = options.check_finite},
             context);
}

}  // namespace nearfield
