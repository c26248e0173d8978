// What a program that reads our standard output is given.
#pragma once

#include <cstdio>
#include <string_view>

#include <nearfield/error.hpp>

namespace nearfield::cli {

// Throws if it cannot be written: a full disk must not look like success.
inline void print_result(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "cannot write to standard output");
  }
}

}  // namespace nearfield::cli
