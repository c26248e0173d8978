// How much a device is given at a time: what takes it some milliseconds, whatever its speed, so
// that a search can be cancelled and what is queued costs little beside what is done.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace nearfield {

class WorkPace {
 public:
  // least_rows: fewer take as long.
  WorkPace(std::int64_t cols, std::int64_t least_rows)
      : least_rows_(least_rows),
        pairs_(std::max(kFirstValues / std::max<std::int64_t>(cols, 1), kLeastPairs)) {}

  // Of a block of so many queries.
  std::int64_t rows_of(std::int64_t queries, std::int64_t most) const {
    return std::clamp(pairs_ / std::max<std::int64_t>(queries, 1), std::min(least_rows_, most),
                      most);
  }

  void begin() { start_ = Clock::now(); }

  // Of so many pairs.
  void end(std::int64_t pairs) {
    const std::chrono::duration<double> took = Clock::now() - start_;
    if (took.count() > kMostSeconds) {
      pairs_ = std::max(pairs / 2, kLeastPairs);
    } else if (took.count() < kMostSeconds / 4 && pairs > pairs_ / 2) {
      pairs_ = std::min(2 * pairs_, kMostPairs);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kMostSeconds = 0.02;           // a search is to stop within 50 ms
  static constexpr std::int64_t kFirstValues = 1 << 22;  // some milliseconds of a CPU
  static constexpr std::int64_t kLeastPairs = 1 << 8;
  static constexpr std::int64_t kMostPairs = std::int64_t{1} << 30;

  std::int64_t least_rows_;
  std::int64_t pairs_;
  Clock::time_point start_{};
};

}  // namespace nearfield
