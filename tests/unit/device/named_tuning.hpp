// A tuning table that NEARFIELD_TUNING names while a test runs.
#pragma once

#include <cstdlib>
#include <string>

#include "device/tuning_file.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield::test {

class NamedTuning {
 public:
  explicit NamedTuning(const std::string& text) : path_(folder_.put("tuning.json", text)) {
    ::setenv("NEARFIELD_TUNING", path_.c_str(), 1);
  }
  explicit NamedTuning(const TuningTable& table) : NamedTuning(format_tuning(table)) {}
  NamedTuning(const NamedTuning&) = delete;
  NamedTuning& operator=(const NamedTuning&) = delete;
  ~NamedTuning() { ::unsetenv("NEARFIELD_TUNING"); }

  const std::string& path() const { return path_; }

 private:
  TempFolder folder_;
  std::string path_;
};

}  // namespace nearfield::test
