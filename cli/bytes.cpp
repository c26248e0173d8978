#include "bytes.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield::cli {
namespace {

[[noreturn]] void fail_text(std::string_view text, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("'{}' {}", text, why));
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::optional<std::int64_t> unit_bytes(std::string_view unit) {
  std::string name(unit);
  std::ranges::transform(name, name.begin(), lower);
  if (name.empty() || name == "b") {
    return 1;
  }
  const auto power = std::string_view("kmgt").find(name[0]);
  const std::string_view rest = std::string_view(name).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) {
    return std::nullopt;
  }
  return std::int64_t{1} << (10 * (power + 1));
}

// Bytes of ".digits" of a unit of at most 2^40: below 2^53, so that a double holds them.
std::int64_t fraction_bytes(std::string_view digits, std::int64_t unit) {
  double value = 0;
  double scale = 1;
  for (const char digit : digits) {
    scale /= 10;
    value += scale * (digit - '0');
  }
  return static_cast<std::int64_t>(value * static_cast<double>(unit));
}

std::string_view take_digits(std::string_view& text) {
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

}  // namespace

std::int64_t parse_bytes(std::string_view text) {
  constexpr std::string_view kExpected =
      "is not a number of bytes: write 1048576, 512M or 1.5GiB (powers of 1024)";
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    if (fraction.empty()) {
      fail_text(text, kExpected);
    }
  }
  const auto unit = unit_bytes(rest);
  if (whole.empty() || !unit) {
    fail_text(text, kExpected);
  }
  std::int64_t bytes = 0;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), bytes);
  if (parsed.ec != std::errc() || __builtin_mul_overflow(bytes, *unit, &bytes) ||
      __builtin_add_overflow(bytes, fraction_bytes(fraction, *unit), &bytes)) {
    fail_text(text, "is more bytes than fit 63 bits");
  }
  return bytes;
}

}  // namespace nearfield::cli
