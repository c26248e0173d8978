// What somebody meant who mistyped a name.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nearfield::cli {

// How many letters must be added, dropped, replaced or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The name that the fewest edits reach, the first of such; none if all are too far to be meant.
std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> names);

}  // namespace nearfield::cli
