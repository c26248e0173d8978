#include "results.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nearfield/isa.hpp>

namespace nearfield::python {

nb::dict to_python(const Plan& plan) {
  nb::dict fields;
  fields["isa"] = to_string(plan.isa);
  fields["filter"] = plan.filter;
  fields["kernel"] = plan.kernel;
  fields["selector"] = plan.selector;
  fields["threads"] = plan.threads;
  fields["query_batch"] = plan.query_batch;
  fields["base_chunk"] = plan.base_chunk;
  fields["passes"] = plan.passes;
  fields["query_tile"] = plan.query_tile;
  fields["row_tile"] = plan.row_tile;
  fields["row_parts"] = plan.row_parts;
  fields["pairs"] = plan.pairs;
  fields["result_bytes"] = plan.result_bytes;
  fields["working_bytes"] = plan.working_bytes;
  fields["text"] = to_string(plan);
  return fields;
}

nb::dict to_python(const Stats& stats) {
  nb::dict fields;
  fields["plan"] = to_python(stats.plan);
  fields["pairs_considered"] = stats.pairs_considered;
  fields["pairs_verified"] = stats.pairs_verified;
  fields["seconds"] = stats.seconds;
  return fields;
}

nb::tuple to_python(Neighbors&& found) {
  const auto shape = {found.queries, found.k};
  return nb::make_tuple(take(std::move(found.ids), shape), take(std::move(found.distances), shape),
                        take(std::move(found.keys), shape), take(std::move(found.counts)),
                        found.exact, to_python(found.stats));
}

nb::tuple to_python(Ranges&& found) {
  return nb::make_tuple(take(std::move(found.offsets)), take(std::move(found.ids)),
                        take(std::move(found.distances)), take(std::move(found.keys)), found.exact,
                        to_python(found.stats));
}

nb::tuple to_python(Pairs&& found) {
  return nb::make_tuple(take(std::move(found.first)), take(std::move(found.second)),
                        take(std::move(found.distances)), take(std::move(found.keys)), found.exact,
                        to_python(found.stats));
}

}  // namespace nearfield::python
