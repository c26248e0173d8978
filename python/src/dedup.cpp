#include <cstdint>
#include <utility>

#include <nearfield/dedup.hpp>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

// The fields of nearfield.DuplicateGroups, in order.
nb::tuple run_dedup(const Rows& codes, std::int64_t radius, const Run& run) {
  DuplicateGroups found = run_call(run, [&](const Context& context) {
    return dedup(codes.source(), {.radius = radius}, context);
  });
  return nb::make_tuple(take(std::move(found.first_of)), take(std::move(found.offsets)),
                        take(std::move(found.rows)), take(std::move(found.distances)),
                        found.distinct, to_python(found.stats));
}

}  // namespace

void bind_dedup(nb::module_& module) { module.def("dedup", run_dedup); }

}  // namespace nearfield::python
