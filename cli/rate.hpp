// Large numbers for people.
#pragma once

#include <string>

namespace nearfield::cli {

// Three figures and a power of 1000: "1.23 G".
std::string with_prefix(double value);

// "0:07", "12:34", "3:00:00".
std::string clock_time(double seconds);

}  // namespace nearfield::cli
