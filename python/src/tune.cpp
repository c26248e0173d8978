// What is fastest on a device.
#include <string_view>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nearfield/tune.hpp>

#include "bindings.hpp"
#include "run.hpp"

namespace nearfield::python {

void bind_tune(nb::module_& module) {
  module.def(
      "tune",
      [](std::string_view effort, const Run& run) {
        const TuneOptions options{.effort = parse_tune_effort(effort)};
        return run_call(run, [&](const Context& context) { return tune(options, context); });
      },
      nb::arg("effort"), nb::arg("run"));
}

}  // namespace nearfield::python
