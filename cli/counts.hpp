// Numbers of the command line, read to the last character and within limits.
#pragma once

#include <cstdint>
#include <string_view>

namespace nearfield::cli {

// All throw an Error that names the text and the limits.
std::int64_t parse_count(std::string_view text, std::int64_t least, std::int64_t most);
double parse_number(std::string_view text);  // an infinity too, but no NaN
double parse_seconds(std::string_view text);

}  // namespace nearfield::cli
