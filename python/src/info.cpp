// What this build of the library knows.
#include <string_view>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nearfield/device.hpp>
#include <nearfield/isa.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/version.hpp>

#include "bindings.hpp"

namespace nearfield::python {
namespace {

std::string_view name(MetricInput input) {
  switch (input) {
    case MetricInput::numbers:
      return "numbers";
    case MetricInput::bits:
      return "bits";
  }
  return "";
}

std::string_view name(Reported reported) {
  switch (reported) {
    case Reported::key:
      return "key";
    case Reported::root:
      return "root";
    case Reported::similarity:
      return "similarity";
    case Reported::p_th_root:
      return "p_th_root";
  }
  return "";
}

nb::list list_metrics() {
  nb::list result;
  for (const MetricInfo& metric : metrics()) {
    result.append(
        nb::make_tuple(metric.name, metric.description, name(metric.input), name(metric.reported)));
  }
  return result;
}

nb::list list_isas() {
  nb::list result;
  for (const Isa isa : available_isas()) {
    result.append(to_string(isa));
  }
  return result;
}

nb::tuple list_devices() {
  const DeviceList list = [] {
    const nb::gil_scoped_release released;
    return devices();
  }();
  nb::list found;
  for (const DeviceInfo& device : list.devices) {
    found.append(nb::make_tuple(device.id, device.name, device.driver, device.memory, device.units,
                                device.is_cpu));
  }
  nb::list missing;
  for (const MissingDevice& one : list.missing) {
    missing.append(nb::make_tuple(one.kind, one.reason));
  }
  return nb::make_tuple(found, missing);
}

}  // namespace

void bind_info(nb::module_& module) {
  module.def("metrics", list_metrics);
  module.def("isas", list_isas);
  module.def("devices", list_devices);
  module.def("version", version);
}

}  // namespace nearfield::python
