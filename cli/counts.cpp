#include "counts.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield::cli {
namespace {

template <class T>
std::optional<T> read_whole(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

}  // namespace

std::int64_t parse_count(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = read_whole<std::int64_t>(text);
  if (!value || *value < least || *value > most) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a whole number from {} to {}", text, least, most));
  }
  return *value;
}

double parse_number(std::string_view text) {
  const auto value = read_whole<double>(text);
  if (!value || std::isnan(*value)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a number: write 2, 0.75 or 1e-3", text));
  }
  return *value;
}

double parse_seconds(std::string_view text) {
  // A century: in nanoseconds, and added to any clock, it still fits 63 bits.
  constexpr double kMost = 3e9;
  const auto seconds = read_whole<double>(text);
  if (!seconds || !(*seconds >= 0 && *seconds <= kMost)) {  // so written, it refuses NaN
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a number of seconds from 0 to {}", text, kMost));
  }
  return *seconds;
}

}  // namespace nearfield::cli
