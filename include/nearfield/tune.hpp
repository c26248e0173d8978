// Which of the ways to select and to search is fastest on a device, found out by timing them all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nearfield/context.hpp>

namespace nearfield {

enum class TuneEffort : std::uint8_t {
  quick,  // some shapes: two to three minutes on a CPU that is a device
  full,   // more of them, and larger ones: many minutes
};
TuneEffort parse_tune_effort(std::string_view name);

struct TuneOptions {
  TuneEffort effort = TuneEffort::full;
};

// What was measured on the device of the context, one: JSON, with the device, its driver and the
// date (docs/devices.md). In a file that the environment variable NEARFIELD_TUNING names, it
// decides what runs on this device, driver and version of Nearfield.
//
// Every answer is compared with that of the CPU before its time counts: one that differs is
// ErrorCode::unsupported. Of the context, the seed makes the values, and progress counts shapes;
// selections that do not fit device_memory_limit are left out, and a search that does not is
// ErrorCode::memory_limit. A memory_limit is ErrorCode::unsupported. While NEARFIELD_TUNING names a
// table, nothing is measured: ErrorCode::invalid_argument. Nothing else should run meanwhile.
std::string tune(const TuneOptions& options, const Context& context);

}  // namespace nearfield
