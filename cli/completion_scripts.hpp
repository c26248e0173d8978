// Completion scripts for shells.
#pragma once

#include <string>

#include "completion_tree.hpp"

namespace nearfield::cli {

std::string bash_script(const CommandTree& tree);
std::string zsh_script(const CommandTree& tree);
std::string fish_script(const CommandTree& tree);

}  // namespace nearfield::cli
