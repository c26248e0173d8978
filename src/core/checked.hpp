// Arithmetic on counts that may come from outside.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/fail.hpp"

namespace nearfield {

// a * b or a + b of non-negative counts; throws invalid_argument naming `what` where it does not
// fit 63 bits.
inline std::int64_t checked_mul(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    fail(ErrorCode::invalid_argument, "{}: {} x {} does not fit 63 bits", what, a, b);
  }
  return result;
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    fail(ErrorCode::invalid_argument, "{}: {} + {} does not fit 63 bits", what, a, b);
  }
  return result;
}

inline constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return divide_up(a, b) * b;
}

}  // namespace nearfield
