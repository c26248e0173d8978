#pragma once

#include <string_view>

namespace nearfield {

// "1.2.3", from the file VERSION.
std::string_view version();

}  // namespace nearfield
