#include "device/gpu/host_reads.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace nearfield::gpu {
namespace {

// Each way, after one that is not counted: drivers compile kernels when they are first used.
constexpr int kRuns = 2;

double seconds_of(const ReadSample& sample, HostReads how) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::max();
  for (int run = 0; run < kRuns; ++run) {
    const Clock::time_point start = Clock::now();
    sample(how);
    least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return least;
}

HostReadsChoice measure(const ReadSample& sample) {
  sample(HostReads::copied);
  if (!sample(HostReads::mapped)) {
    return {HostReads::copied, "arrays of the host are copied: the device did not map them"};
  }
  const double copied = seconds_of(sample, HostReads::copied);
  const double mapped = seconds_of(sample, HostReads::mapped);
  const bool maps = mapped < copied;
  return {maps ? HostReads::mapped : HostReads::copied,
          fmt::format("arrays of the host are {}: a sample took {:.2f} ms copied, {:.2f} mapped",
                      maps ? "mapped" : "copied", 1e3 * copied, 1e3 * mapped)};
}

struct Known {
  std::mutex mutex;
  std::optional<HostReads> forced;
  std::map<std::pair<const Device*, std::string>, HostReadsChoice> measured;
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

HostReadsChoice choose_host_reads(const Device& device, std::string_view kind, std::int64_t bytes,
                                  const ReadSample& sample) {
  if (bytes == 0) return {};
  const std::lock_guard lock(known().mutex);
  if (known().forced) return {*known().forced, "arrays of the host are read as a test asks for"};
  const std::pair<const Device*, std::string> key(&device, kind);
  if (const auto found = known().measured.find(key); found != known().measured.end()) {
    return found->second;
  }
  if (bytes < kLeastMeasured) {
    return {HostReads::copied, fmt::format("arrays of the host are copied: {} bytes are too few to "
                                           "measure which is faster",
                                           bytes)};
  }
  try {
    return known().measured[key] = measure(sample);
  } catch (const OutOfMemory&) {
    return {HostReads::copied,
            "arrays of the host are copied: the device had no memory to measure"};
  }
}

void force_host_reads(std::optional<HostReads> how) {
  const std::lock_guard lock(known().mutex);
  known().forced = how;
  known().measured.clear();
}

}  // namespace nearfield::gpu
