// The names that options take as values, for help and completion.
#pragma once

#include <string>
#include <vector>

namespace nearfield::cli {

std::vector<std::string> metric_names();  // "lp:P" where a number is part of the name
std::vector<std::string> isa_names();     // of this machine

}  // namespace nearfield::cli
