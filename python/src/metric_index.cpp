// Objects under any metric: one of the library's, a C function, or a Python callable.
#include <nearfield/metric_index.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nearfield/error.hpp>
#include <nearfield/object_metrics.hpp>

#include "bindings.hpp"
#include "results.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

using ObjectIdArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Distances = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> ids_in(const ObjectIdArray& ids) { return {ids.data(), ids.size()}; }

// Objects are numbers, by which Python finds them: call(from, to) gets a number and a list of them,
// and returns an array of float64. What it raises ends the search.
class CallableMetric final : public ObjectMetric {
 public:
  CallableMetric(nb::object call, double slack) : call_(std::move(call)), slack_(slack) {}
  ~CallableMetric() override {
    const nb::gil_scoped_acquire acquired;
    call_.reset();
  }

  std::string name() const override { return "a Python callable"; }
  double slack() const override { return slack_; }
  bool any_thread() const override { return false; }  // there is one GIL
  std::int64_t alignment() const override { return sizeof(std::int64_t); }

  void distances(ObjectView from, std::span<const ObjectView> to, double /*limit*/, Isa /*isa*/,
                 std::span<double> out) const override {
    const nb::gil_scoped_acquire acquired;
    nb::list numbers;
    for (const ObjectView one : to) numbers.append(number_of(one));
    const auto found = nb::cast<Distances>(call_(number_of(from), numbers));
    if (found.size() != out.size()) {
      throw Error(ErrorCode::invalid_argument,
                  "the metric returned " + std::to_string(found.size()) + " distances for " +
                      std::to_string(out.size()) + " objects: return one for each");
    }
    std::copy_n(found.data(), found.size(), out.begin());
  }

 private:
  static std::int64_t number_of(ObjectView object) {
    return *reinterpret_cast<const std::int64_t*>(object.data());
  }

  nb::object call_;
  double slack_;
};

// double function(const void* a, int64_t bytes of a, const void* b, int64_t bytes of b). Called
// from many threads, without the GIL.
class FunctionMetric final : public ObjectMetric {
 public:
  FunctionMetric(std::uintptr_t address, std::string name, std::int64_t alignment, bool whole,
                 std::optional<double> slack, std::string device_source)
      : function_(reinterpret_cast<Function>(address)),
        name_(std::move(name)),
        alignment_(alignment),
        whole_(whole),
        slack_(slack),
        device_source_(std::move(device_source)) {}

  std::string name() const override { return name_; }
  std::string device_source() const override { return device_source_; }
  double slack() const override { return slack_.value_or(ObjectMetric::slack()); }
  bool whole_numbers() const override { return whole_; }
  std::int64_t alignment() const override { return alignment_; }

  void distances(ObjectView from, std::span<const ObjectView> to, double /*limit*/, Isa /*isa*/,
                 std::span<double> out) const override {
    for (std::size_t i = 0; i < to.size(); ++i) {
      out[i] = function_(from.data(), std::ssize(from), to[i].data(), std::ssize(to[i]));
    }
  }

 private:
  using Function = double (*)(const void*, std::int64_t, const void*, std::int64_t);

  Function function_;
  std::string name_;
  std::int64_t alignment_;
  bool whole_;
  std::optional<double> slack_;
  std::string device_source_;
};

using SharedMetric = std::shared_ptr<const ObjectMetric>;

// A metric, as Python holds it.
struct KeptMetric {
  SharedMetric metric;
};

// Objects as bytes, which stay while the GIL is not held. Python aligns them to 8 bytes.
class GivenObjects {
 public:
  explicit GivenObjects(const nb::list& objects) {
    kept_.reserve(nb::len(objects));
    for (const nb::handle object : objects) {
      const auto bytes = nb::cast<nb::bytes>(object);
      kept_.push_back(bytes);
      views_.emplace_back(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size());
    }
  }
  std::span<const ObjectView> views() const { return views_; }

 private:
  std::vector<nb::bytes> kept_;
  std::vector<ObjectView> views_;
};

class KeptMetricIndex {
 public:
  KeptMetricIndex(const KeptMetric& metric, const PivotOptions& options)
      : index(std::make_shared<MetricIndex>(metric.metric, options)) {}
  explicit KeptMetricIndex(MetricIndex opened)
      : index(std::make_shared<MetricIndex>(std::move(opened))) {}

  std::shared_ptr<MetricIndex> index;
};

struct Nothing {};

template <class Call>
auto without_gil(const KeptMetricIndex& kept, const Call& call) {
  const std::shared_ptr<MetricIndex> index = kept.index;
  const nb::gil_scoped_release released;
  return call(*index);
}

template <class Call>
auto run_on(const KeptMetricIndex& kept, const Run& run, const Call& call) {
  const std::shared_ptr<MetricIndex> index = kept.index;
  return run_call(run, [&](const Context& context) { return call(*index, context); });
}

PivotOptions pivot_options(std::optional<std::int64_t> pool, std::int64_t kept, int bits,
                           int choice, std::int64_t choice_budget, bool signatures) {
  return {pool, kept, bits, static_cast<PivotChoice>(choice), choice_budget, signatures};
}

// Pivots may be chosen by what is added, too.
Context seeded(Context context, std::uint64_t seed) {
  context.seed = seed;
  return context;
}

std::int64_t add_objects(KeptMetricIndex& kept, const nb::list& given,
                         const std::optional<ObjectIdArray>& ids, std::uint64_t seed,
                         const Run& run) {
  const GivenObjects objects(given);
  return run_on(kept, run, [&](MetricIndex& index, const Context& unseeded) {
    const Context context = seeded(unseeded, seed);
    if (!ids) return index.add(objects.views(), context);
    index.add(objects.views(), ids_in(*ids), context);
    return std::int64_t{0};
  });
}

nb::tuple search_objects(const KeptMetricIndex& kept, const nb::list& given, std::int64_t k,
                         std::optional<std::int64_t> budget, std::optional<std::int64_t> pivots,
                         const Run& run) {
  const GivenObjects queries(given);
  return to_python(run_on(kept, run, [&](const MetricIndex& index, const Context& context) {
    return index.search(queries.views(), {k, budget, pivots}, context);
  }));
}

nb::tuple objects_within(const KeptMetricIndex& kept, const nb::list& given, double radius,
                         bool ids_only, std::optional<std::int64_t> budget,
                         std::optional<std::int64_t> pivots, const Run& run) {
  const GivenObjects queries(given);
  return to_python(run_on(kept, run, [&](const MetricIndex& index, const Context& context) {
    return index.within(queries.views(), {radius, ids_only, budget, pivots}, context);
  }));
}

nb::tuple pairs_of_objects(const KeptMetricIndex& kept, const std::optional<nb::list>& given,
                           std::optional<double> radius, std::optional<std::int64_t> count,
                           std::optional<std::int64_t> pivots, const Run& run) {
  const GivenObjects others(given ? *given : nb::list());
  const bool one_set = !given;
  return to_python(run_on(kept, run, [&](const MetricIndex& index, const Context& context) {
    const MetricPairsOptions options{radius, count, pivots};
    return one_set ? index.pairs(options, context) : index.pairs(others.views(), options, context);
  }));
}

nb::dict stats_of(const KeptMetricIndex& kept) {
  const MetricIndexStats stats =
      without_gil(kept, [](const MetricIndex& index) { return index.stats(); });
  nb::dict fields;
  fields["size"] = stats.size;
  fields["removed"] = stats.removed;
  fields["pivots"] = stats.pivots;
  fields["kept"] = stats.kept;
  fields["object_bytes"] = stats.object_bytes;
  fields["filter_bytes"] = stats.filter_bytes;
  fields["id_bytes"] = stats.id_bytes;
  fields["signatures"] = stats.signatures;
  fields["distances"] = stats.distances;
  return fields;
}

nb::tuple checked(const KeptMetric& metric, const nb::list& given, std::int64_t triples,
                  std::uint64_t seed, const Run& run) {
  const GivenObjects objects(given);
  const MetricReport report = run_call(run, [&](const Context& context) {
    return check_metric(*metric.metric, objects.views(), triples, seeded(context, seed));
  });
  const auto violation = [](const MetricReport::Violation& one) {
    return nb::make_tuple(one.by, one.objects[0], one.objects[1], one.objects[2]);
  };
  return nb::make_tuple(report.triples, report.distances, violation(report.not_a_distance),
                        violation(report.identity), violation(report.symmetry),
                        violation(report.triangle), violation(report.whole_numbers),
                        violation(report.bound), violation(report.limit), to_string(report));
}

void bind_metrics(nb::module_& module) {
  nb::class_<KeptMetric>(module, "ObjectMetric");
  module.def("object_metric",
             [](const std::string& name) { return KeptMetric{object_metric(name)}; });
  module.def("callable_metric", [](nb::object call, double slack) {
    return KeptMetric{std::make_shared<CallableMetric>(std::move(call), slack)};
  });
  module.def(
      "function_metric",
      [](std::uintptr_t address, std::string name, std::int64_t alignment, bool whole,
         std::optional<double> slack, std::string device_source) {
        return KeptMetric{std::make_shared<FunctionMetric>(address, std::move(name), alignment,
                                                           whole, slack, std::move(device_source))};
      },
      nb::arg("address"), nb::arg("name"), nb::arg("alignment"), nb::arg("whole"),
      nb::arg("slack").none(), nb::arg("device_source"));
  module.def("check_metric", checked);
  module.def("object_metrics", [] {
    nb::list list;
    for (const ObjectMetricInfo& info : object_metrics()) {
      constexpr const char* kInputs[] = {"text", "members", "numbers"};
      list.append(nb::make_tuple(std::string(info.name), std::string(info.description),
                                 kInputs[static_cast<int>(info.input)]));
    }
    return list;
  });
}

}  // namespace

void bind_metric_index(nb::module_& module) {
  bind_metrics(module);
  nb::class_<KeptMetricIndex>(module, "MetricIndex")
      .def(
          "__init__",
          [](KeptMetricIndex* self, const KeptMetric& metric, std::optional<std::int64_t> pool,
             std::int64_t kept, int bits, int choice, std::int64_t choice_budget, bool signatures) {
            new (self) KeptMetricIndex(
                metric, pivot_options(pool, kept, bits, choice, choice_budget, signatures));
          },
          nb::arg("metric"), nb::arg("pool").none(), nb::arg("kept"), nb::arg("bits"),
          nb::arg("choice"), nb::arg("choice_budget"), nb::arg("signatures"))
      .def_static("open",
                  [](const nb::bytes& path, const KeptMetric& metric, bool read_only,
                     std::int64_t most_bytes) {
                    const std::string name = text(path);
                    const SharedMetric shared = metric.metric;
                    OpenOptions options;
                    options.read_only = read_only;
                    options.most_bytes = most_bytes;
                    const nb::gil_scoped_release released;
                    return KeptMetricIndex(MetricIndex::open(name, shared, options));
                  })
      .def_static("verify",
                  [](const nb::bytes& path, const KeptMetric& metric, const Run& run) {
                    const std::string name = text(path);
                    const SharedMetric shared = metric.metric;
                    run_call(run, [&](const Context& context) {
                      verify_metric_index(name, shared, {}, context);
                      return Nothing();
                    });
                  })
      .def("add", add_objects, nb::arg("objects"), nb::arg("ids").none(), nb::arg("seed"),
           nb::arg("run"))
      .def("remove",
           [](KeptMetricIndex& kept, const ObjectIdArray& ids) {
             return without_gil(kept,
                                [&](MetricIndex& index) { return index.remove(ids_in(ids)); });
           })
      .def("rebuild",
           [](KeptMetricIndex& kept, std::uint64_t seed, const Run& run) {
             run_on(kept, run, [&](MetricIndex& index, const Context& context) {
               index.rebuild(seeded(context, seed));
               return Nothing();
             });
           })
      .def("save",
           [](const KeptMetricIndex& kept, const nb::bytes& path, const Run& run) {
             const std::string name = text(path);
             run_on(kept, run, [&](const MetricIndex& index, const Context& context) {
               index.save(name, context);
               return Nothing();
             });
           })
      .def("contains",
           [](const KeptMetricIndex& kept, std::int64_t id) {
             return without_gil(kept, [&](const MetricIndex& index) { return index.contains(id); });
           })
      .def("get",
           [](const KeptMetricIndex& kept, std::int64_t id) {
             const std::vector<std::byte> object =
                 without_gil(kept, [&](const MetricIndex& index) { return index.get(id); });
             return nb::bytes(reinterpret_cast<const char*>(object.data()), object.size());
           })
      .def("ids",
           [](const KeptMetricIndex& kept) {
             return take(without_gil(kept, [](const MetricIndex& index) { return index.ids(); }));
           })
      .def("size",
           [](const KeptMetricIndex& kept) {
             return without_gil(kept, [](const MetricIndex& index) { return index.size(); });
           })
      .def("search", search_objects, nb::arg("queries"), nb::arg("k"), nb::arg("budget").none(),
           nb::arg("pivots").none(), nb::arg("run"))
      .def("within", objects_within, nb::arg("queries"), nb::arg("radius"), nb::arg("ids_only"),
           nb::arg("budget").none(), nb::arg("pivots").none(), nb::arg("run"))
      .def("pairs", pairs_of_objects, nb::arg("others").none(), nb::arg("radius").none(),
           nb::arg("count").none(), nb::arg("pivots").none(), nb::arg("run"))
      .def("stats", stats_of);
}

}  // namespace nearfield::python
