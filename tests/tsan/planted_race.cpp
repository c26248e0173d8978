// A race through run_tasks that ThreadSanitizer must report.
#include <atomic>
#include <cstdio>

#include "core/tasks.hpp"

int main() {
  long sum = 0;
  std::atomic<int> arrived{0};
  nearfield::run_tasks(2, 2, [&](std::int64_t task, int) {
    // Both threads are here at once, and relaxed order tells neither about the other.
    arrived.fetch_add(1, std::memory_order_relaxed);
    while (arrived.load(std::memory_order_relaxed) < 2) {
    }
    sum += task;
  });
  std::printf("%ld\n", sum);
}
