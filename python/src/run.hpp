// How a call runs, so that Python can interrupt it.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nearfield/context.hpp>

#include "running.hpp"

namespace nearfield::python {

namespace nb = nanobind;

// The time between two looks at signals: with the 50 ms in which a cancelled search stops, Ctrl-C
// takes less than 100 ms.
inline constexpr std::chrono::milliseconds kPoll{20};

// The settings of one call: copies of its context share a cancel token.
class Run {
 public:
  Run(int threads, std::optional<std::string> isa, std::optional<std::int64_t> memory_limit,
      std::optional<double> timeout_seconds, nb::object progress, std::string device,
      std::optional<std::int64_t> device_memory_limit, std::uintptr_t stream);

  Context context() const { return context_; }
  const nb::object& progress() const { return progress_; }

 private:
  Context context_;
  nb::object progress_;  // callable(done, total), or None
};

// Hands what a search reports in its threads to a Python callable in the caller's.
class ProgressRelay {
 public:
  explicit ProgressRelay(const nb::object& callable) : callable_(callable) {}

  void store(const Progress& progress) {
    const std::lock_guard lock(storing_);
    stored_ = progress;
  }

  // Needs the GIL. Calls if something was stored since the last time.
  void pass_on();

 private:
  const nb::object& callable_;
  std::mutex storing_;  // guards stored_: a call may count something else, of another total, later
  Progress stored_{.done = -1};
  Progress passed_on_{.done = -1};
};

// What a call has beside its work. Begins and ends with the GIL.
struct Watched {
  explicit Watched(const Run& run)
      : context(run.context()), running(context.cancel), relay(run.progress()) {
    if (!run.progress().is_none()) {
      context.progress = [this](const Progress& progress) { relay.store(progress); };
    }
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  Context context;
  RunningCall running;
  ProgressRelay relay;
};

// `call(context)` runs in a thread of its own, without the GIL. The calling thread waits: signals
// are handled in Python's main thread only, and the progress callable belongs to the caller's
// thread. What a signal handler or the callable raises ends the call and is thrown from here.
// `on_poll(context)` is called in between, without the GIL; what it throws ends the call too.
template <class Call, class OnPoll>
auto run_call(const Run& run, const Call& call, const OnPoll& on_poll) {
  Watched watched(run);
  const Context& context = watched.context;
  auto found = std::async(std::launch::async, [&] { return call(context); });
  {
    const nb::gil_scoped_release released;
    while (found.wait_for(kPoll) != std::future_status::ready) {
      try {
        on_poll(context);
        const nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) {
          throw nb::python_error();
        }
        watched.relay.pass_on();
      } catch (...) {
        context.cancel.cancel();
        found.wait();
        throw;
      }
    }
  }
  auto result = found.get();
  watched.relay.pass_on();
  return result;
}

// The same in the calling thread, where no signal is heard: for what takes a few milliseconds.
template <class Call>
auto run_short_call(const Run& run, const Call& call) {
  Watched watched(run);
  auto result = [&] {
    const nb::gil_scoped_release released;
    return call(std::as_const(watched.context));
  }();
  watched.relay.pass_on();
  return result;
}

template <class Call>
auto run_call(const Run& run, const Call& call) {
  return run_call(run, call, [](const Context&) {});
}

}  // namespace nearfield::python
