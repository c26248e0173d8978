// Finding and loading plugins.
#pragma once

#include <string>

#include "file_plugin.hpp"

namespace nearfield::cli {

// The plugin nearfield_NAME.so, loaded once: from the folder of the executable, then from the
// folders of NEARFIELD_PLUGINS, separated by colons. `path` is the file that needs it, for
// messages.
const FilePlugin& load_plugin(const std::string& name, const std::string& path);

}  // namespace nearfield::cli
