// What a file is that is not what its name says.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "core/fail.hpp"
#include "io/file.hpp"

namespace nearfield {

// "is a git-lfs pointer, ...: run git lfs pull" and the like: what often lies where vectors are
// expected, and what to do about it. Only asked once a file was found wrong, since a valid one may
// begin with the same bytes: 60 rows begin with '<'.
std::optional<std::string_view> recognise(const InputFile& file);

// Throws what the file is, if that can be recognised, else the message.
template <class... Args>
[[noreturn]] void reject(const InputFile& file, fmt::format_string<Args...> format,
                         Args&&... args) {
  if (const auto what = recognise(file)) {
    fail(ErrorCode::corrupt_file, "{}: has {} bytes and {}", file.path(), file.size(), *what);
  }
  fail(ErrorCode::corrupt_file, "{}: {}", file.path(),
       fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace nearfield
