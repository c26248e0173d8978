// Candidates timed by turns, so that what disturbs a round disturbs all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/tuning_table.hpp"

namespace nearfield {

inline constexpr int kTimedRounds = 3;

// run(i) does the work of candidate i and says how many seconds it took. The kernels of each have
// been run before: drivers compile them then.
inline std::vector<Timing> timed_rounds(std::span<const std::string_view> names,
                                        const std::function<double(std::size_t)>& run) {
  std::vector<Timing> timings;
  for (const std::string_view name : names) timings.push_back({std::string(name), {}});
  for (int round = 0; round < kTimedRounds; ++round) {
    for (std::size_t i = 0; i < timings.size(); ++i) timings[i].seconds.push_back(run(i));
  }
  return timings;
}

}  // namespace nearfield
