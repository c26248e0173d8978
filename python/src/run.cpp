#include "run.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"

namespace nearfield::python {

Run::Run(int threads, std::optional<std::string> isa, std::optional<std::int64_t> memory_limit,
         std::optional<double> timeout_seconds, nb::object progress, std::string device,
         std::optional<std::int64_t> device_memory_limit, std::uintptr_t stream)
    : progress_(std::move(progress)) {
  context_.threads = threads;
  if (isa) {
    context_.isa = parse_isa(*isa);
  }
  context_.memory_limit = memory_limit;
  context_.device = std::move(device);
  context_.device_memory_limit = device_memory_limit;
  context_.stream = stream;
  if (timeout_seconds) {
    context_.deadline =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                               std::chrono::duration<double>(*timeout_seconds));
  }
}

void ProgressRelay::pass_on() {
  Progress last;
  {
    const std::lock_guard lock(storing_);
    last = stored_;
  }
  if (last.done != passed_on_.done || last.total != passed_on_.total) {
    passed_on_ = last;
    callable_(last.done, last.total);
  }
}

void bind_run(nb::module_& module) {
  nb::class_<Run>(module, "Run")
      .def(nb::init<int, std::optional<std::string>, std::optional<std::int64_t>,
                    std::optional<double>, nb::object, std::string, std::optional<std::int64_t>,
                    std::uintptr_t>(),
           nb::arg("threads"), nb::arg("isa").none(), nb::arg("memory_limit").none(),
           nb::arg("timeout").none(), nb::arg("progress").none(), nb::arg("device"),
           nb::arg("device_memory_limit").none(), nb::arg("stream"));
}

}  // namespace nearfield::python
