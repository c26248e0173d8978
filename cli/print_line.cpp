#include "print_line.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield::cli {

void print_line(std::string_view text) {
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  if (std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "cannot write to standard output");
  }
}

}  // namespace nearfield::cli
