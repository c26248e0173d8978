// The k first of values that are there already.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nearfield/select.hpp>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

using Ids = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

// Of float32 or float64.
ValuesView view_of(const Array& values) {
  return {values.data(), values.dtype() == nb::dtype<float>() ? DType::f32 : DType::f64,
          static_cast<std::int64_t>(values.shape(0)), static_cast<std::int64_t>(values.shape(1)),
          row_stride(values)};
}

template <class Values>
nb::tuple run_select_k(const Values& values, std::int64_t k, bool largest, bool sorted,
                       const std::optional<Ids>& ids, const Run& run) {
  SelectOptions options{.k = k, .largest = largest, .sorted = sorted};
  if (ids) {
    options.ids = {ids->data(), ids->size()};
  }
  Selected found =
      run_call(run, [&](const Context& context) { return select_k(values, options, context); });
  const auto shape = {found.rows, found.k};
  return nb::make_tuple(take(std::move(found.ids), shape), take(std::move(found.values), shape),
                        take(std::move(found.counts)), to_python(found.stats));
}

}  // namespace

void bind_select(nb::module_& module) {
  const auto bind = [&](auto call) {
    module.def("select_k", call, nb::arg("values"), nb::arg("k"), nb::arg("largest"),
               nb::arg("sorted"), nb::arg("ids").none(), nb::arg("run"));
  };
  bind(run_select_k<DeviceArray>);
  bind([](const Array& values, std::int64_t k, bool largest, bool sorted,
          const std::optional<Ids>& ids,
          const Run& run) { return run_select_k(view_of(values), k, largest, sorted, ids, run); });
}

}  // namespace nearfield::python
