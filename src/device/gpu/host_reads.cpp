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
    return {HostReads::copied, kNotMapped};
  }
  const double copied = seconds_of(sample, HostReads::copied);
  const double mapped = seconds_of(sample, HostReads::mapped);
  const bool maps = mapped < copied;
  return {maps ? HostReads::mapped : HostReads::copied,
          fmt::format("arrays of the host are {}: a sample took {:.2f} ms copied, {:.2f} mapped",
                      maps ? "mapped" : "copied", 1e3 * copied, 1e3 * mapped)};
}

using Key = std::pair<const Device*, std::string>;

struct Known {
  std::mutex mutex;
  std::optional<HostReads> forced;
  std::map<Key, HostReadsChoice> measured;
};

Known& known() {
  static Known all;
  return all;
}

std::optional<HostReadsChoice> known_choice(const Key& key) {
  const std::lock_guard lock(known().mutex);
  if (known().forced) {
    return HostReadsChoice{*known().forced, "arrays of the host are read as a test asks for"};
  }
  const auto found = known().measured.find(key);
  if (found == known().measured.end()) return std::nullopt;
  return found->second;
}

}  // namespace

HostReadsChoice choose_host_reads(const Device& device, std::string_view kind, std::int64_t bytes,
                                  const ReadSample& sample) {
  if (bytes == 0) return {};
  const Key key(&device, kind);
  if (const std::optional<HostReadsChoice> choice = known_choice(key)) return *choice;
  if (bytes < kLeastMeasured) {
    return {HostReads::copied, fmt::format("arrays of the host are copied: {} bytes are too few to "
                                           "measure which is faster",
                                           bytes)};
  }
  try {
    // Not locked: others would wait for it, and hear of no deadline.
    const HostReadsChoice choice = measure(sample);
    const std::lock_guard lock(known().mutex);
    return known().measured.emplace(key, choice).first->second;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::memory_limit) throw;
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
