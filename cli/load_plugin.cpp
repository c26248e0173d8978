#include "load_plugin.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/version.hpp>

namespace nearfield::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders = "NEARFIELD_PLUGINS";

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  std::error_code ignored;
  const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
  if (!executable.empty()) {
    all.push_back(executable.parent_path());
  }
  const char* const named = std::getenv(kFolders);
  std::istringstream list(named == nullptr ? "" : named);
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) {
      all.emplace_back(folder);
    }
  }
  return all;
}

fs::path find(const std::string& file_name, const std::string& path) {
  std::string looked_in;
  for (const fs::path& folder : folders()) {
    std::error_code ignored;
    if (fs::exists(folder / file_name, ignored)) {
      return folder / file_name;
    }
    looked_in += fmt::format("{}'{}'", looked_in.empty() ? "" : ", ", folder.string());
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: needs the plugin {}, which is not in {}: build it with "
                          "-DNEARFIELD_HDF5=ON, or name its folder in {}",
                          path, file_name, looked_in, kFolders));
}

const FilePlugin& load(const fs::path& library) {
  // Never closed: what it hands out lives until the process ends.
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto* const entry =
      handle == nullptr ? nullptr : static_cast<const PluginEntry*>(::dlsym(handle, kPluginSymbol));
  if (entry == nullptr) {
    throw Error(ErrorCode::unsupported,
                fmt::format("cannot load the plugin '{}': {}", library.string(), ::dlerror()));
  }
  if (entry->version != version()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("the plugin '{}' is of Nearfield {}, this is {}: build both together",
                            library.string(), entry->version, version()));
  }
  return entry->plugin();
}

}  // namespace

const FilePlugin& load_plugin(const std::string& name, const std::string& path) {
  static std::map<std::string, const FilePlugin*> loaded;
  auto& plugin = loaded[name];
  if (plugin == nullptr) {
    plugin = &load(find(fmt::format("nearfield_{}.so", name), path));
  }
  return *plugin;
}

}  // namespace nearfield::cli
