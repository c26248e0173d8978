// Pieces of radix select that others use.
#pragma once

#include "select/gpu/selectors.hpp"

namespace nearfield {

// What radix.cu finds of a row.
struct DeviceThreshold {
  std::uint32_t key;
  std::uint32_t below;
  std::uint32_t taken;
  std::uint32_t equal;
};
inline constexpr std::int64_t kThresholdBytes = sizeof(DeviceThreshold);
inline constexpr std::int64_t kStartBytes = sizeof(std::uint64_t);

// Where k items of each row begin, and where the last ends.
const gpu::Buffer& place_rows(const SelectJob& job, Scratch& scratch);

}  // namespace nearfield
