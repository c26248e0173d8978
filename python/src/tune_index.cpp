// Parameters of an index that reach a recall.
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nearfield/tune_index.hpp>

#include "bindings.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {

void bind_tune_index(nb::module_& module) {
  module.def(
      "tune_index",
      [](const Rows& vectors, const Rows* queries, std::string family, std::string_view metric,
         double recall, std::int64_t k, const Run& run) {
        const RowSource& rows = vectors.source();
        const IndexSpec spec{.family = std::move(family),
                             .dtype = rows.dtype(),
                             .cols = rows.cols(),
                             .metric = parse_metric(metric)};
        const Matrix none(rows.dtype(), 0, rows.cols());
        const MatrixRows no_queries(none);
        const TunedIndex tuned = run_call(run, [&](const Context& context) {
          return tune_index(spec, rows, queries != nullptr ? queries->source() : no_queries,
                            {.recall = recall, .k = k}, context);
        });
        return std::tuple(tuned.family, tuned.recall, tuned.looked_at);
      },
      nb::arg("vectors"), nb::arg("queries").none(), nb::arg("family"), nb::arg("metric"),
      nb::arg("recall"), nb::arg("k"), nb::arg("run"));
}

}  // namespace nearfield::python
