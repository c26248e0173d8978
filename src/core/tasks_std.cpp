// run_tasks without oneTBB, for the ThreadSanitizer build.
#include "core/tasks.hpp"

namespace nearfield {

void run_tasks(std::int64_t count, int threads, const TaskBody& body) {
  run_on_fresh_threads(count, threads, body);
}

}  // namespace nearfield
