#include "rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace nearfield::cli {

std::string with_prefix(double value) {
  constexpr std::array<std::string_view, 6> kPrefixes{"", " k", " M", " G", " T", " P"};
  std::size_t i = 0;
  while (value >= 999.5 && i + 1 < kPrefixes.size()) {  // 999.5 would be shown as 1e+03
    value /= 1000;
    ++i;
  }
  return fmt::format("{:.3g}{}", value, kPrefixes[i]);
}

std::string clock_time(double seconds) {
  constexpr double kMost = 359'999;  // 99:59:59, and no overflow where a rate is near 0
  const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, kMost)));
  const std::int64_t minutes = whole / 60;
  if (minutes < 60) {
    return fmt::format("{}:{:02}", minutes, whole % 60);
  }
  return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, whole % 60);
}

}  // namespace nearfield::cli
