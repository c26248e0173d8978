#include <nearfield/graph.hpp>

namespace nearfield {
namespace {

KnnOptions without_self(const GraphOptions& options) {
  KnnOptions others;
  others.k = options.k;
  others.metric = options.metric;
  others.filter = options.filter;
  others.exclude_self = true;
  others.check_finite = options.check_finite;
  return others;
}

}  // namespace

Neighbors graph(const RowSource& rows, const GraphOptions& options, const Context& context) {
  return knn(rows, rows, without_self(options), context);
}

Plan plan_graph(const RowSource& rows, const GraphOptions& options, const Context& context) {
  return plan_knn(rows, rows, without_self(options), context);
}

}  // namespace nearfield
