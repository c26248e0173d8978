// What a file is that is not what its name says.
#pragma once

#include <optional>
#include <string_view>

#include "io/file.hpp"

namespace nearfield {

// "is a git-lfs pointer, ...: run git lfs pull" and the like: what often lies where vectors are
// expected, and what to do about it. Only asked once a file was found wrong, since a valid one may
// begin with the same bytes: 60 rows begin with '<'.
std::optional<std::string_view> recognise(const InputFile& file);

}  // namespace nearfield
