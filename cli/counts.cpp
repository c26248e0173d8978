#include "counts.hpp"

#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield::cli {

std::int64_t parse_count(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < least || value > most) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a whole number from {} to {}", text, least, most));
  }
  return value;
}

double parse_seconds(std::string_view text) {
  // A century: in nanoseconds, and added to any clock, it still fits 63 bits.
  constexpr double kMost = 3e9;
  const std::string copy(text);
  char* end = nullptr;
  const double seconds = std::strtod(copy.c_str(), &end);
  const bool whole = !copy.empty() && end == copy.c_str() + copy.size();
  if (!whole || !(seconds >= 0 && seconds <= kMost)) {  // so written, it refuses NaN
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a number of seconds from 0 to {}", text, kMost));
  }
  return seconds;
}

}  // namespace nearfield::cli
