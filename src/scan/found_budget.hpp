#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/fail.hpp"

namespace nearfield {

// How much all sinks of a search may hold together, where the number found is not known before.
class FoundBudget {
 public:
  explicit FoundBudget(std::optional<std::int64_t> most) : most_(most) {}

  // Throws memory_limit when it is used up. Any thread.
  void spend(std::int64_t found) {
    const std::int64_t total = found_ += found;
    if (most_ && total > *most_) {
      fail(ErrorCode::memory_limit,
           "{} results are found and the memory limit has room for {}: raise it, or search fewer "
           "queries at a time or a smaller radius",
           total, *most_);
    }
  }

 private:
  std::optional<std::int64_t> most_;  // empty: as many as there are
  std::atomic<std::int64_t> found_{0};
};

}  // namespace nearfield
