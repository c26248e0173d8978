#include "device/gpu/open.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <system_error>
#include <vector>

#include <nearfield/device.hpp>
#include <nearfield/version.hpp>

#include "core/fail.hpp"
#include "device/cpu_device.hpp"
#include "device/device_name.hpp"
#include "device/tuning_in_use.hpp"

namespace nearfield {
namespace gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders = "NEARFIELD_PLUGINS";

// The shared library or program that this function is in. A program has no name there: what it was
// called by may be any text, or a name to be looked for in PATH.
fs::path own_file() {
  Dl_info ignored{};
  ::link_map* here = nullptr;
  const int found = ::dladdr1(reinterpret_cast<const void*>(&devices), &ignored,
                              reinterpret_cast<void**>(&here), RTLD_DL_LINKMAP);
  const bool named = found != 0 && here != nullptr && *here->l_name != '\0';
  std::error_code error;
  return fs::canonical(named ? here->l_name : "/proc/self/exe", error);
}

// Where that is, then those named.
std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  if (const fs::path file = own_file(); !file.empty()) all.push_back(file.parent_path());
  const char* const named = std::getenv(kFolders);
  std::istringstream list(named == nullptr ? "" : named);
  for (std::string folder; std::getline(list, folder, ':');) {
    const bool known = std::find(all.begin(), all.end(), fs::path(folder)) != all.end();
    if (!folder.empty() && !known) all.emplace_back(folder);
  }
  return all;
}

fs::path find(std::string_view kind) {
  const std::string file = fmt::format("nearfield_{}.so", kind);
  std::string looked_in;
  for (const fs::path& folder : folders()) {
    std::error_code ignored;
    if (fs::exists(folder / file, ignored)) return folder / file;
    looked_in += fmt::format("{}'{}'", looked_in.empty() ? "" : ", ", folder.string());
  }
  fail(ErrorCode::unsupported,
       "the plugin {} is not in {}: install it there, or name its folder in {}", file, looked_in,
       kFolders);
}

const Plugin& load(std::string_view kind) {
  const fs::path library = find(kind);
  // Never closed: devices live until the process ends.
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto* const entry =
      handle == nullptr ? nullptr : static_cast<const PluginEntry*>(::dlsym(handle, kPluginSymbol));
  if (entry == nullptr) {
    fail(ErrorCode::unsupported, "the plugin '{}' cannot be loaded: {}", library.string(),
         ::dlerror());
  }
  if (entry->version != version()) {
    fail(ErrorCode::unsupported,
         "the plugin '{}' is of Nearfield {}, this is {}: install both of one version",
         library.string(), entry->version, version());
  }
  return entry->plugin();
}

// Kinds and devices in use. A kind that could not be loaded is tried again: what it lacked may have
// been named since.
class Registry {
 public:
  static Registry& instance() {
    // Never destroyed: drivers end before it would be.
    static Registry& registry = *new Registry;
    return registry;
  }

  std::vector<Facts> list(std::string_view kind) {
    const std::lock_guard lock(mutex_);
    return plugin(kind).list();
  }

  Device& open(const DeviceName& name) {
    const std::lock_guard lock(mutex_);
    if (::getpid() != process_) {
      fail(ErrorCode::unsupported,
           "process {} was forked from {}, which had used devices, and a driver does not survive "
           "that: start it afresh (in Python, multiprocessing's method \"spawn\")",
           ::getpid(), process_);
    }
    std::unique_ptr<Device>& device = devices_[{std::string(name.kind), name.index}];
    if (device == nullptr) device = open_new(name);
    return *device;
  }

 private:
  const Plugin& plugin(std::string_view kind) {
    const Plugin*& loaded = plugins_[std::string(kind)];
    if (loaded == nullptr) loaded = &load(kind);
    return *loaded;
  }

  std::unique_ptr<Device> open_new(const DeviceName& name) {
    const Plugin& kind = plugin(name.kind);
    const std::vector<Facts> all = kind.list();
    if (name.index >= std::ssize(all)) {
      fail(ErrorCode::unsupported, "there is no device {}:{}, only {}:0{}", name.kind, name.index,
           name.kind, all.size() > 1 ? fmt::format(" to {}:{}", name.kind, all.size() - 1) : "");
    }
    return kind.open(name.index);
  }

  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::map<std::string, const Plugin*> plugins_;
  std::map<std::pair<std::string, int>, std::unique_ptr<Device>> devices_;
};

}  // namespace

Opened open_device(std::string_view text) {
  const DeviceName name = parse_device(text);
  check_tuning();
  return {fmt::format("{}:{}", name.kind, name.index), Registry::instance().open(name)};
}

}  // namespace gpu

DeviceList devices() {
  DeviceList found;
  found.devices.push_back(cpu_device());
  for (const std::string_view kind : kDeviceKinds) {
    try {
      int index = 0;
      for (const gpu::Facts& facts : gpu::Registry::instance().list(kind)) {
        found.devices.push_back({fmt::format("{}:{}", kind, index++), facts.name, facts.driver,
                                 facts.memory, facts.units, facts.is_cpu});
      }
    } catch (const Error& error) {
      found.missing.push_back({std::string(kind), error.what()});
    }
  }
  return found;
}

}  // namespace nearfield
