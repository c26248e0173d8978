// Whether a result can be written, asked before the hours that compute it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nearfield::cli {

// Throws CLI::ValidationError for a name that can never be right (its ending, or a file that is
// also read), Error for one the system refuses. `option` is the one that gave the path.
void check_output(const std::string& option, const std::string& path, std::string_view ending,
                  std::span<const std::string> inputs);

}  // namespace nearfield::cli
