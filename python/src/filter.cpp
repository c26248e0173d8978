#include "filter.hpp"

#include "bindings.hpp"

namespace nearfield::python {

void bind_filter(nb::module_& module) {
  nb::class_<Filter>(module, "Filter");
  module.def("bitset_filter", [](Filter::List<std::uint64_t> words) { return Filter(words); });
  module.def("list_filter", [](Filter::List<std::int64_t> ids) { return Filter(ids); });
}

}  // namespace nearfield::python
