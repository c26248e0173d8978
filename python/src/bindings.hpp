// The parts of the extension module nearfield._core. It is private to the package: the Python files
// beside it check arguments and word the errors, so that what arrives here has the right types.
#pragma once

#include <string>

#include <nanobind/nanobind.h>

namespace nearfield::python {

namespace nb = nanobind;

// Paths are bytes, as the system has them.
inline std::string text(const nb::bytes& path) { return {path.c_str(), path.size()}; }

void bind_errors(nb::module_& module);
void bind_info(nb::module_& module);
void bind_rows(nb::module_& module);
void bind_device_arrays(nb::module_& module);
void bind_filter(nb::module_& module);
void bind_running(nb::module_& module);
void bind_run(nb::module_& module);
void bind_searches(nb::module_& module);
void bind_match_pairs(nb::module_& module);
void bind_dedup(nb::module_& module);
void bind_cursor(nb::module_& module);
void bind_index(nb::module_& module);
void bind_quantize(nb::module_& module);
void bind_metric_index(nb::module_& module);
void bind_select(nb::module_& module);
void bind_pairwise(nb::module_& module);
void bind_tune(nb::module_& module);
void bind_tune_index(nb::module_& module);
void bind_files(nb::module_& module);

}  // namespace nearfield::python
