// How often a selection speaks to its monitor.
#pragma once

#include <cstdint>
#include <utility>

#include "core/monitor.hpp"

namespace nearfield {

// Between two looks at the cancel token: at most a few milliseconds.
inline constexpr std::int64_t kValuesPerCheck = 1 << 18;

// Reports to the monitor only when there is something to say: rows may be short.
class Pace {
 public:
  explicit Pace(Monitor& monitor) : monitor_(monitor) {}

  // Values that will not be looked at again.
  void advance(std::int64_t values) {
    values_ += values;
    if (values_ >= kValuesPerCheck) report();
  }
  void report() { monitor_.advance(std::exchange(values_, 0)); }

  // Values that will be: they are no progress, but take time.
  void pass(std::int64_t values) {
    passed_ += values;
    if (passed_ < kValuesPerCheck) return;
    passed_ = 0;
    monitor_.check();
  }

 private:
  Monitor& monitor_;
  std::int64_t values_ = 0;
  std::int64_t passed_ = 0;
};

}  // namespace nearfield
