#include "device/tuning_in_use.hpp"

#include <cstdlib>
#include <mutex>

#include <nearfield/version.hpp>

#include "core/fail.hpp"
#include "device/tuning_file.hpp"

namespace nearfield {
namespace {

constexpr const char* kVariable = "NEARFIELD_TUNING";

struct Named {
  std::string path;  // empty: none
  std::shared_ptr<const TuningTable> table;
};

// Tests name one file after the other.
Named named_table() {
  static std::mutex mutex;
  static Named last;
  const std::string path = named_tuning();
  if (path.empty()) return {};
  const std::lock_guard lock(mutex);
  if (last.path != path) {
    try {
      last = {path, std::make_shared<const TuningTable>(read_tuning_file(path))};
    } catch (const Error& error) {
      fail(error.code(), "{} names a file of no use: {}; unset the variable first", kVariable,
           error.what());
    }
  }
  return last;
}

}  // namespace

TuningInUse tuning_of(std::string_view device, std::string_view driver) {
  const auto [path, table] = named_table();
  if (table == nullptr) return {};
  if (table->device == device && table->driver == driver && table->version == version()) {
    return {table, {}};
  }
  return {nullptr,
          fmt::format("the tuning of '{}' is not used: it was made for {}, driver {}, by Nearfield "
                      "{}",
                      path, table->device, table->driver, table->version)};
}

void check_tuning() { named_table(); }

std::string named_tuning() {
  const char* const path = std::getenv(kVariable);
  return path == nullptr ? "" : path;
}

}  // namespace nearfield
