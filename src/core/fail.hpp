// Throwing an Error whose message holds the numbers.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield {

// A message may quote a file: control characters of ASCII, which a terminal would obey, as \xNN.
std::string without_control_characters(const std::string& text);

template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, without_control_characters(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace nearfield
