// What a program that reads our standard output is given.
#pragma once

#include <cstdio>
#include <string_view>

#include <nearfield/error.hpp>

namespace nearfield::cli {

// With a line end if the text has none. Throws if it cannot be written: a full disk must not look
// like success.
inline void print_result(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                       (text.ends_with('\n') || std::fputc('\n', stdout) != EOF);
  if (!written || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "cannot write to standard output");
  }
}

}  // namespace nearfield::cli
