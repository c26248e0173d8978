// Threads. What runs in parallel goes through run_tasks, what runs beside it through Background.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace nearfield {

inline constexpr int kMaxThreads = 1024;

// Cores this process may use: CPU affinity, and the cgroup's quota rounded up.
int usable_cores();

// The threads a context asks for: 0 means usable_cores(). Throws for a number out of range.
int resolve_threads(int threads);

// task: 0 to count - 1, each run once. worker: 0 to threads - 1, never two tasks at once, so that
// it can index scratch memory.
using TaskBody = std::function<void(std::int64_t task, int worker)>;

// Runs all tasks on at most `threads` threads, the calling one among them, and returns when they
// are done. threads = 1 is a plain loop. The first exception stops the handing out of tasks and is
// rethrown here.
//
// Safe in a forked child, whose threads are gone: the pool is shut down before a fork if it is
// idle, so that parent and child start afresh; if it was not (another thread was searching), the
// child runs on threads started for each call.
void run_tasks(std::int64_t count, int threads, const TaskBody& body);

// The executor behind that last case and behind ThreadSanitizer builds (oneTBB as Debian ships it
// is not instrumented, and 69 false reports would hide the true ones): threads started for the
// call, tasks handed out by a counter.
void run_on_fresh_threads(std::int64_t count, int threads, const TaskBody& body);

// Something that runs on a thread of its own while the caller goes on. At its end it is waited for.
class Background {
 public:
  explicit Background(std::function<void()> work);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Until it is done. Throws what it threw.
  void wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nearfield
