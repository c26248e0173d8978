#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

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

// cgroup v2: "max 100000" or "150000 100000": microseconds of CPU time in each period.
int cores_by_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) {
    return std::numeric_limits<int>::max();
  }
  return static_cast<int>(std::ceil(std::stod(quota) / period));
}

}  // namespace

int usable_cores() {
  static const int cores =
      std::clamp(std::min(cores_by_affinity(), cores_by_quota()), 1, kMaxThreads);
  return cores;
}

}  // namespace nearfield
