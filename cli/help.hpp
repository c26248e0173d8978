// What every command's --help ends with.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "exit_code.hpp"

namespace nearfield::cli {

// "Example, the nearest rows:" and the line to type, which must work as it stands.
inline std::string help_footer(std::string_view example_of, std::string_view example) {
  return fmt::format("Example, {}:\n  {}\n\n{}", example_of, example, kExitCodeHelp);
}

}  // namespace nearfield::cli
