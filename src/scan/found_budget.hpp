#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/fail.hpp"

namespace nearfield {

// How much all sinks of a search may hold together, where the number found is not known before.
class FoundBudget {
 public:
  // `advice` says what to ask for instead.
  FoundBudget(std::optional<std::int64_t> most, const char* advice)
      : most_(most), advice_(advice) {}

  // Throws memory_limit when it is used up: before the memory is taken. Any thread.
  void spend(std::int64_t found) {
    const std::int64_t total = found_ += found;
    if (most_ && total > *most_) {
      fail(ErrorCode::memory_limit,
           "{} results are found and the memory limit has room for {}: raise it, or {}", total,
           *most_, advice_);
    }
  }

  // What was spent is given up, and its memory was. Any thread.
  void refund(std::int64_t found) { found_ -= found; }

 private:
  std::optional<std::int64_t> most_;  // empty: as many as there are
  const char* advice_;
  std::atomic<std::int64_t> found_{0};
};

}  // namespace nearfield
