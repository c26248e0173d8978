#include "code/code_work.hpp"

#include <nearfield/knn.hpp>

namespace nearfield {
namespace {

MatrixView view_of(const FloatRows& rows) {
  return {rows.values, DType::f32, rows.count, rows.cols,
          rows.stride * static_cast<std::int64_t>(sizeof(float))};
}

}  // namespace

Neighbors nearest_of(const FloatRows& rows, const FloatRows& centroids, const CodeWork& work) {
  Context context = work.context;
  context.progress = {};  // the caller has a monitor of its own
  KnnOptions options;
  options.k = 1;
  return knn(view_of(rows), view_of(centroids), options, context);
}

}  // namespace nearfield
