// What a command answers, on standard output.
#pragma once

#include <string_view>

namespace nearfield::cli {

// With a line end if the text has none. Throws an Error if it cannot be written.
void print_line(std::string_view text);

}  // namespace nearfield::cli
