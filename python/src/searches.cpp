// knn, within, graph, pairs, mutual and match, and their plans.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nearfield/graph.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/match.hpp>
#include <nearfield/mutual.hpp>
#include <nearfield/pairs.hpp>
#include <nearfield/within.hpp>

#include "bindings.hpp"
#include "filter.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

// The options look at the filter's memory: each keeps its filter alive.
using KeepFilter = nb::keep_alive<1, 4>;

RowFilter view_of(const Filter* filter) { return filter != nullptr ? filter->view() : RowFilter(); }

void bind_options(nb::module_& module) {
  nb::class_<KnnOptions>(module, "KnnOptions")
      .def(
          "__init__",
          [](KnnOptions* self, std::int64_t k, std::string_view metric, const Filter* filter,
             bool exclude_self, bool check_finite) {
            new (self) KnnOptions{.k = k,
                                  .metric = parse_metric(metric),
                                  .filter = view_of(filter),
                                  .exclude_self = exclude_self,
                                  .check_finite = check_finite};
          },
          KeepFilter(), nb::arg("k"), nb::arg("metric"), nb::arg("filter").none(),
          nb::arg("exclude_self"), nb::arg("check_finite"));
  nb::class_<WithinOptions>(module, "WithinOptions")
      .def(
          "__init__",
          [](WithinOptions* self, double radius, std::string_view metric, const Filter* filter,
             bool exclude_self, bool check_finite) {
            new (self) WithinOptions{.radius = radius,
                                     .metric = parse_metric(metric),
                                     .filter = view_of(filter),
                                     .exclude_self = exclude_self,
                                     .check_finite = check_finite};
          },
          KeepFilter(), nb::arg("radius"), nb::arg("metric"), nb::arg("filter").none(),
          nb::arg("exclude_self"), nb::arg("check_finite"));
  nb::class_<GraphOptions>(module, "GraphOptions")
      .def(
          "__init__",
          [](GraphOptions* self, std::int64_t k, std::string_view metric, const Filter* filter,
             bool check_finite) {
            new (self) GraphOptions{.k = k,
                                    .metric = parse_metric(metric),
                                    .filter = view_of(filter),
                                    .check_finite = check_finite};
          },
          KeepFilter(), nb::arg("k"), nb::arg("metric"), nb::arg("filter").none(),
          nb::arg("check_finite"));
  nb::class_<PairsOptions>(module, "PairsOptions")
      .def(
          "__init__",
          [](PairsOptions* self, std::optional<double> radius, std::optional<std::int64_t> count,
             std::string_view metric, bool check_finite) {
            new (self) PairsOptions{.radius = radius,
                                    .count = count,
                                    .metric = parse_metric(metric),
                                    .check_finite = check_finite};
          },
          nb::arg("radius").none(), nb::arg("count").none(), nb::arg("metric"),
          nb::arg("check_finite"));
  nb::class_<MutualOptions>(module, "MutualOptions")
      .def(
          "__init__",
          [](MutualOptions* self, std::string_view metric, bool check_finite) {
            new (self) MutualOptions{.metric = parse_metric(metric), .check_finite = check_finite};
          },
          nb::arg("metric"), nb::arg("check_finite"));
  nb::class_<MatchOptions>(module, "MatchOptions")
      .def(
          "__init__",
          [](MatchOptions* self, std::string_view metric, std::optional<double> ratio,
             std::optional<double> margin, std::optional<double> max_distance,
             std::string_view cross_check, bool check_finite) {
            const bool angle = metric == "sift_angle";
            new (self) MatchOptions{
                .metric = angle ? Metric::inner_product : parse_metric(metric),
                .distance = angle ? MatchDistance::sift_angle : MatchDistance::reported,
                .ratio = ratio,
                .margin = margin,
                .max_distance = max_distance,
                .cross_check = parse_cross_check(cross_check),
                .check_finite = check_finite};
          },
          nb::arg("metric"), nb::arg("ratio").none(), nb::arg("margin").none(),
          nb::arg("max_distance").none(), nb::arg("cross_check"), nb::arg("check_finite"));
}

// Whether a search takes no more than some 20 ms, even if it finds and sorts all pairs: so many
// values, none of which has a power to take, and all of them in memory. A thread of its own would
// cost as much as 200,000 values.
bool is_short(const RowSource& queries, const RowSource& base, MetricSpec metric) {
  constexpr double kMostValues = 1 << 24;
  constexpr std::int64_t kValuesOfAPair = 64;  // at least, with what is done once it is found
  const double values = static_cast<double>(queries.rows()) * static_cast<double>(base.rows()) *
                        static_cast<double>(std::max(base.cols(), kValuesOfAPair));
  return values <= kMostValues && metric.metric != Metric::lp && queries.in_memory() &&
         base.in_memory();
}

template <class Search>
auto run_search(const Run& run, const Rows& queries, const Rows& base, MetricSpec metric,
                const Search& search) {
  return is_short(queries.source(), base.source(), metric) ? run_short_call(run, search)
                                                           : run_call(run, search);
}

nb::tuple run_knn(const Rows& queries, const Rows& base, const KnnOptions& options,
                  const Run& run) {
  return to_python(run_search(run, queries, base, options.metric, [&](const Context& context) {
    return knn(queries.source(), base.source(), options, context);
  }));
}

nb::tuple run_graph(const Rows& rows, const GraphOptions& options, const Run& run) {
  return to_python(run_search(run, rows, rows, options.metric, [&](const Context& context) {
    return graph(rows.source(), options, context);
  }));
}

nb::tuple run_within(const Rows& queries, const Rows& base, const WithinOptions& options,
                     const Run& run) {
  return to_python(run_search(run, queries, base, options.metric, [&](const Context& context) {
    return within(queries.source(), base.source(), options, context);
  }));
}

// Here and below: one set if `second` is null, else two.
nb::tuple run_pairs(const Rows& first, const Rows* second, const PairsOptions& options,
                    const Run& run) {
  const Rows& other = second == nullptr ? first : *second;
  return to_python(run_search(run, first, other, options.metric, [&](const Context& context) {
    return second == nullptr ? pairs(first.source(), options, context)
                             : pairs(first.source(), second->source(), options, context);
  }));
}

nb::tuple run_mutual(const Rows& first, const Rows* second, const MutualOptions& options,
                     const Run& run) {
  const Rows& other = second == nullptr ? first : *second;
  return to_python(run_search(run, first, other, options.metric, [&](const Context& context) {
    return second == nullptr ? mutual(first.source(), options, context)
                             : mutual(first.source(), second->source(), options, context);
  }));
}

nb::tuple run_match(const Rows& first, const Rows& second, const MatchOptions& options,
                    const Run& run) {
  return to_python(run_search(run, first, second, options.metric, [&](const Context& context) {
    return match(first.source(), second.source(), options, context);
  }));
}

void bind_plans(nb::module_& module) {
  module.def("plan_knn",
             [](const Rows& queries, const Rows& base, const KnnOptions& options, const Run& run) {
               return to_python(plan_knn(queries.source(), base.source(), options, run.context()));
             });
  module.def("plan_within", [](const Rows& queries, const Rows& base, const WithinOptions& options,
                               const Run& run) {
    return to_python(plan_within(queries.source(), base.source(), options, run.context()));
  });
  module.def("plan_graph", [](const Rows& rows, const GraphOptions& options, const Run& run) {
    return to_python(plan_graph(rows.source(), options, run.context()));
  });
  module.def(
      "plan_pairs",
      [](const Rows& first, const Rows* second, const PairsOptions& options, const Run& run) {
        const Context context = run.context();
        return to_python(second == nullptr
                             ? plan_pairs(first.source(), options, context)
                             : plan_pairs(first.source(), second->source(), options, context));
      },
      nb::arg("first"), nb::arg("second").none(), nb::arg("options"), nb::arg("run"));
  module.def(
      "plan_mutual",
      [](const Rows& first, const Rows* second, const MutualOptions& options, const Run& run) {
        const Context context = run.context();
        return to_python(second == nullptr
                             ? plan_mutual(first.source(), options, context)
                             : plan_mutual(first.source(), second->source(), options, context));
      },
      nb::arg("first"), nb::arg("second").none(), nb::arg("options"), nb::arg("run"));
  module.def("plan_match", [](const Rows& first, const Rows& second, const MatchOptions& options,
                              const Run& run) {
    return to_python(plan_match(first.source(), second.source(), options, run.context()));
  });
}

}  // namespace

void bind_searches(nb::module_& module) {
  bind_options(module);
  module.def("knn", run_knn);
  module.def("within", run_within);
  module.def("graph", run_graph);
  module.def("pairs", run_pairs, nb::arg("first"), nb::arg("second").none(), nb::arg("options"),
             nb::arg("run"));
  module.def("mutual", run_mutual, nb::arg("first"), nb::arg("second").none(), nb::arg("options"),
             nb::arg("run"));
  module.def("match", run_match);
  bind_plans(module);
}

}  // namespace nearfield::python
