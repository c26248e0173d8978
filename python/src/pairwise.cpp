// All distances between two sets.
#include <cstdint>
#include <string_view>
#include <utility>

#include <nanobind/stl/string_view.h>
#include <nearfield/error.hpp>
#include <nearfield/pairwise.hpp>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

// Rows, or a DeviceArray.
AnyRows view_of(nb::handle rows) {
  if (nb::isinstance<DeviceArray>(rows)) return nb::cast<DeviceArray>(rows);
  const auto view = nb::cast<const Rows&>(rows).source().in_memory();
  if (!view) {
    throw Error(ErrorCode::unsupported,
                "pairwise takes rows in memory, and this file is read in pieces: pass what "
                "nearfield.read gives");
  }
  return *view;
}

nb::tuple run_pairwise(nb::handle queries, nb::handle base, std::string_view metric, bool keys,
                       const Run& run) {
  const PairwiseOptions options{.metric = parse_metric(metric), .keys = keys};
  const AnyRows wanted = view_of(queries);
  const AnyRows rows = view_of(base);
  Pairwise table = run_call(
      run, [&](const Context& context) { return pairwise(wanted, rows, options, context); });
  const auto shape = {table.queries, table.rows};
  return nb::make_tuple(take(std::move(table.values), shape), to_python(table.stats));
}

}  // namespace

void bind_pairwise(nb::module_& module) { module.def("pairwise", run_pairwise); }

}  // namespace nearfield::python
