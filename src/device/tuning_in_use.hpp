// The tuning table that the environment variable NEARFIELD_TUNING names, if it does.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/tuning_table.hpp"

namespace nearfield {

struct TuningInUse {
  // Null where none is named, or the one that is was made for another device, driver or version.
  std::shared_ptr<const TuningTable> table;
  std::string note;  // of the second: a sentence
};

// Of a device and its driver, as gpu::Facts has them. A file is read once. Throws, with the name of
// the variable, where it cannot be read or is no table: also the next time.
TuningInUse tuning_of(std::string_view device, std::string_view driver);

// Throws what that would.
void check_tuning();

// What the variable says; empty: nothing.
std::string named_tuning();

}  // namespace nearfield
