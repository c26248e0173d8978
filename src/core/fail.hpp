// Throwing an Error whose message holds the numbers.
#pragma once

#include <utility>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield {

template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace nearfield
