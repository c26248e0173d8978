// How a device reads arrays of the host: copied to its memory, or mapped, from where they are.
// Which is faster depends on the device and on how often a kernel reads a value, so that it is
// measured, once a process for each device and kind of work, with the first work that is large
// enough.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "device/gpu/gpu.hpp"

namespace nearfield::gpu {

enum class HostReads : std::uint8_t { copied, mapped };

// Fewer bytes of the host's are not measured with: what a launch takes would be measured.
inline constexpr std::int64_t kLeastMeasured = std::int64_t{4} << 20;
// More tell nothing new.
inline constexpr std::int64_t kMostMeasured = std::int64_t{16} << 20;

// Of a call whose arrays were to be mapped, and could not be.
inline constexpr const char* kNotMapped =
    "arrays of the host are copied: the device did not map them";

struct HostReadsChoice {
  HostReads how = HostReads::copied;
  std::string why;  // a sentence, with the times
};

// Does a part of the work, which may be done over and over. False if arrays could not be read so.
using ReadSample = std::function<bool(HostReads)>;

// `bytes` of arrays of the host are to be read by `kind` of work. What the sample throws is thrown,
// except OutOfMemory: then arrays are copied, and the next work is measured.
HostReadsChoice choose_host_reads(const Device& device, std::string_view kind, std::int64_t bytes,
                                  const ReadSample& sample);

// For tests: this, whatever is faster; nothing: what is measured, anew.
void force_host_reads(std::optional<HostReads> how);

}  // namespace nearfield::gpu
