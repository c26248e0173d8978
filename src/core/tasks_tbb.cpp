// run_tasks on oneTBB: an arena a call. The only file that names TBB.
#include <pthread.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>

#include "core/tasks.hpp"

namespace nearfield {
namespace {

// What must be known about TBB's workers when the process forks. They do not exist in the child,
// and TBB does not notice: its searches would silently run on one thread (measured), or hang.
struct Pool {
  std::mutex mutex;
  int active_calls = 0;
  bool lost = false;           // TBB here believes in workers that did not survive a fork
  bool workers_alive = false;  // since TBB was last used and not shut down
  bool watching_forks = false;
  std::optional<tbb::task_scheduler_handle> handle;
  // TBB starts no more workers than cores unless told; threads = 7 on two cores means seven. No
  // more than was ever asked for: TBB starts workers up to the limit whenever it finds them busy.
  int most_threads = 0;
  std::optional<tbb::global_control> more_than_cores;
};

// Never destroyed: fork handlers cannot be taken back, and workers may outlive static objects.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

void before_fork() {
  Pool& p = pool();
  p.mutex.lock();  // until after the fork: no call begins meanwhile
  if (p.handle && !p.lost && p.active_calls == 0) {
    p.more_than_cores.reset();
    // Fails while another living thread has used TBB: it keeps a reference until it ends.
    p.workers_alive = !tbb::finalize(*p.handle, std::nothrow);
    p.handle.reset();
  }
}

void after_fork_in_parent() { pool().mutex.unlock(); }

void after_fork_in_child() {
  Pool& p = pool();
  p.lost = p.lost || p.workers_alive;
  p.active_calls = 0;
  p.mutex.unlock();
}

class Call {
 public:
  explicit Call(int threads) {
    Pool& p = pool();
    const std::lock_guard lock(p.mutex);
    if (p.lost) return;
    if (!p.watching_forks) {
      pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
      p.watching_forks = true;
    }
    if (!p.handle) {
      p.handle.emplace(tbb::attach{});
      p.workers_alive = true;
    }
    if (threads > usable_cores() && (threads > p.most_threads || !p.more_than_cores)) {
      p.most_threads = std::max(p.most_threads, threads);
      p.more_than_cores.emplace(tbb::global_control::max_allowed_parallelism,
                                static_cast<std::size_t>(p.most_threads));
    }
    ++p.active_calls;
    has_pool_ = true;
  }
  ~Call() {
    if (!has_pool_) return;
    const std::lock_guard lock(pool().mutex);
    --pool().active_calls;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool has_pool() const { return has_pool_; }

 private:
  bool has_pool_ = false;
};

}  // namespace

void run_tasks(std::int64_t count, int threads, const TaskBody& body) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t task = 0; task < count; ++task) body(task, 0);
    return;
  }
  const Call call(threads);
  if (!call.has_pool()) return run_on_fresh_threads(count, threads, body);

  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(
        std::int64_t{0}, count,
        [&](std::int64_t task) { body(task, tbb::this_task_arena::current_thread_index()); },
        tbb::simple_partitioner{});
  });
}

}  // namespace nearfield
