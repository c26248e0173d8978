// Vectors as codes.
#include <nearfield/quantize.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nearfield/encode_index.hpp>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

// Those that are left out have their defaults.
QuantizerOptions options_of(const nb::dict& given) {
  const auto take = [&]<class T>(const char* name, T& option) {
    if (given.contains(name)) option = nb::cast<T>(given[name]);
  };
  QuantizerOptions options;
  options.kind = parse_quantizer_kind(nb::cast<std::string>(given["kind"]));
  take("codebooks", options.codebooks);
  take("bits", options.bits);
  take("iterations", options.iterations);
  take("beam", options.beam);
  take("rounds", options.rounds);
  take("train_rounds", options.train_rounds);
  take("perturbed", options.perturbed);
  take("sweeps", options.sweeps);
  take("random_order", options.random_order);
  std::string relaxation(to_string(options.relaxation));
  take("relaxation", relaxation);
  options.relaxation = parse_relaxation(relaxation);
  return options;
}

nb::dict to_python(const QuantizerOptions& options) {
  nb::dict fields;
  fields["kind"] = to_string(options.kind);
  fields["codebooks"] = options.codebooks;
  fields["bits"] = options.bits;
  fields["iterations"] = options.iterations;
  fields["beam"] = options.beam;
  fields["rounds"] = options.rounds;
  fields["train_rounds"] = options.train_rounds;
  fields["perturbed"] = options.perturbed;
  fields["sweeps"] = options.sweeps;
  fields["random_order"] = options.random_order;
  fields["relaxation"] = to_string(options.relaxation);
  return fields;
}

// Hands the error after each iteration, of which training says in its thread, to a Python callable
// in the caller's.
class IterationRelay {
 public:
  explicit IterationRelay(const nb::object& callable) : callable_(callable) {}

  void store(int iteration, double error) {
    const std::lock_guard lock(storing_);
    stored_.emplace_back(iteration, error);
  }

  // Needs the GIL. Calls for each that was stored since the last time, in their order.
  void pass_on() {
    std::vector<std::pair<int, double>> some;
    {
      const std::lock_guard lock(storing_);
      some.swap(stored_);
    }
    for (const auto& [iteration, error] : some) callable_(iteration, error);
  }

 private:
  const nb::object& callable_;
  std::mutex storing_;  // guards stored_
  std::vector<std::pair<int, double>> stored_;
};

Quantizer train(const Rows& rows, const nb::dict& given, std::uint64_t seed,
                const nb::bytes& checkpoint, const nb::object& iteration, const Run& run) {
  const MatrixView view = rows.source().in_memory().value();
  const QuantizerOptions options = options_of(given);
  TrainOptions training;
  training.checkpoint = text(checkpoint);
  IterationRelay relay(iteration);
  if (!iteration.is_none()) {
    training.iteration = [&](int number, double error) { relay.store(number, error); };
  }
  Quantizer trained = run_call(
      run,
      [&](Context context) {
        context.seed = seed;
        return Quantizer::train(view, options, context, training);
      },
      [&](const Context&) {
        const nb::gil_scoped_acquire acquired;
        relay.pass_on();
      });
  relay.pass_on();
  return trained;
}

nb::object encode(const Quantizer& quantizer, const Rows& rows, const Run& run) {
  const MatrixView view = rows.source().in_memory().value();
  return take(
      run_call(run, [&](const Context& context) { return quantizer.encode(view, context); }));
}

std::int64_t encode_to_index(const Quantizer& quantizer, const Rows& rows, const nb::bytes& path,
                             std::string_view metric, bool byte_norms, const Run& run) {
  const std::string name = text(path);
  const EncodeIndexOptions options{.metric = parse_metric(metric), .byte_norms = byte_norms};
  return run_call(run, [&](const Context& context) {
    return encode_index(quantizer, rows.source(), name, options, context);
  });
}

nb::object decode(const Quantizer& quantizer, const Rows& codes, const Run& run) {
  const MatrixView view = codes.source().in_memory().value();
  return take(
      run_call(run, [&](const Context& context) { return quantizer.decode(view, context); }));
}

nb::object squared_errors(const Quantizer& quantizer, const Rows& rows, const Rows& codes,
                          const Run& run) {
  const MatrixView row_view = rows.source().in_memory().value();
  const MatrixView code_view = codes.source().in_memory().value();
  return take(run_call(run, [&](const Context& context) {
    return quantizer.squared_errors(row_view, code_view, context);
  }));
}

nb::object codebooks(const Quantizer& quantizer) {
  const MatrixView view = quantizer.codebooks();
  const auto* const values = reinterpret_cast<const float*>(view.row(0));
  const std::int64_t m = quantizer.options().codebooks;
  return take(std::vector<float>(values, values + view.rows() * view.cols()),
              {m, view.rows() / m, view.cols()});
}

}  // namespace

void bind_quantize(nb::module_& module) {
  nb::class_<Quantizer>(module, "Quantizer")
      .def_static("train", train, nb::arg("rows"), nb::arg("options"), nb::arg("seed"),
                  nb::arg("checkpoint"), nb::arg("iteration").none(), nb::arg("run"))
      .def_static("open",
                  [](const nb::bytes& path) {
                    const std::string name = text(path);
                    const nb::gil_scoped_release released;
                    return Quantizer::open(name);
                  })
      .def("save",
           [](const Quantizer& quantizer, const nb::bytes& path) {
             const std::string name = text(path);
             const nb::gil_scoped_release released;
             quantizer.save(name);
           })
      .def("encode", encode)
      .def("encode_index", encode_to_index)
      .def("decode", decode)
      .def("squared_errors", squared_errors)
      .def("codebooks", codebooks)
      .def("options", [](const Quantizer& quantizer) { return to_python(quantizer.options()); })
      .def("seed", &Quantizer::seed)
      .def("cols", &Quantizer::cols)
      .def("code_bytes", &Quantizer::code_bytes)
      .def("errors", [](const Quantizer& quantizer) {
        const auto errors = quantizer.errors();
        return take(std::vector<double>(errors.begin(), errors.end()));
      });
}

}  // namespace nearfield::python
