#pragma once

#include <cstdint>

namespace nearfield {

// Values that a device selects from at a time, at most: between two of these a call can be
// cancelled.
inline constexpr std::int64_t kDeviceBatchBytes = std::int64_t{64} << 20;

}  // namespace nearfield
