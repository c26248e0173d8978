#include "running.hpp"

#include <unistd.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <nearfield/error.hpp>

#include "bindings.hpp"

namespace nearfield::python {
namespace {

struct RunningCalls {
  const pid_t process = ::getpid();
  std::mutex mutex;
  std::set<const CancelToken*> tokens;
  std::optional<std::thread::id> ended_by;  // the thread that ends the interpreter
};

// What a thread holds that never comes back is never freed: no mistake that nanobind should speak
// of.
void expect_leaks() { nb::set_leak_warnings(false); }

// Needs the GIL. The child of a fork has none of the threads that ran in its parent: it starts with
// an empty list, and leaves alone the other, whose mutex may be locked for ever.
RunningCalls& running_calls() {
  static auto* calls = new RunningCalls();
  if (calls->process != ::getpid()) {
    expect_leaks();
    calls = new RunningCalls();
  }
  return *calls;
}

// Whether none runs; those that do are told to stop.
bool end(RunningCalls& calls) {
  const std::scoped_lock lock(calls.mutex);
  calls.ended_by = std::this_thread::get_id();
  for (const CancelToken* token : calls.tokens) {
    token->cancel();
  }
  return calls.tokens.empty();
}

// At exit Python has waited for all threads but the daemons. It looks again and again, since the
// wait of a condition variable needs GLIBCXX_3.4.30, and RHEL 9 has 3.4.29.
void end_running_calls() {
  RunningCalls& calls = running_calls();
  const nb::gil_scoped_release released;
  while (!end(calls)) {
    expect_leaks();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

RunningCall::RunningCall(CancelToken token) : token_(std::move(token)) {
  RunningCalls& calls = running_calls();
  const std::scoped_lock lock(calls.mutex);
  if (calls.ended_by && *calls.ended_by != std::this_thread::get_id()) {
    throw Error(ErrorCode::cancelled, "not begun, since the interpreter is ending");
  }
  calls.tokens.insert(&token_);
}

RunningCall::~RunningCall() {
  RunningCalls& calls = running_calls();
  const std::scoped_lock lock(calls.mutex);
  calls.tokens.erase(&token_);
}

void bind_running(nb::module_&) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(end_running_calls));
}

}  // namespace nearfield::python
