#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/fail.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

int cores_by_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails only on machines with more than 1,024 CPUs, where the set would have to be larger.
  if (sched_getaffinity(0, sizeof set, &set) != 0) return kMaxThreads;
  return CPU_COUNT(&set);
}

// Microseconds of CPU time in each period. cgroup v2: "max 100000" or "150000 100000" in one file;
// v1: "-1" or "150000", and "100000" in another.
int cores_by_quota() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double quota = 0;  // no number can be read from "max"
  double period = 0;
  const bool known = (v2 >> quota >> period) || (v1_quota >> quota && v1_period >> period);
  if (!known || quota <= 0 || period <= 0) return kMaxThreads;
  return static_cast<int>(std::min<double>(std::ceil(quota / period), kMaxThreads));
}

}  // namespace

int usable_cores() {
  // A quota is set from outside and rarely changes; an affinity the process sets itself.
  static const int by_quota = cores_by_quota();
  return std::clamp(std::min(cores_by_affinity(), by_quota), 1, kMaxThreads);
}

int resolve_threads(int threads) {
  if (threads < 0 || threads > kMaxThreads) {
    fail(ErrorCode::invalid_argument, "threads are 0 (all cores) to {}, got {}", kMaxThreads,
         threads);
  }
  return threads == 0 ? usable_cores() : threads;
}

}  // namespace nearfield
