// Selections on a device: the same answer from each of them.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/gpu/gpu.hpp"

namespace nearfield {

// A value and its place in its row, in their total order: the key above, the place below, as
// select/gpu/items.h has them.
using DeviceItem = std::uint64_t;
inline constexpr std::int64_t kItemBytes = sizeof(DeviceItem);
inline constexpr DeviceItem kNoDeviceItem = std::numeric_limits<DeviceItem>::max();

// The value whose key select/gpu/items.h makes: negated where the largest are wanted.
inline double value_of(DeviceItem item) {
  const auto key = static_cast<std::uint32_t>(item >> 32);
  const std::uint32_t bits = (key >> 31) != 0 ? key ^ 0x80000000 : ~key;
  return static_cast<double>(std::bit_cast<float>(bits));
}

// What a kernel reads: SourceKind of select/gpu/items.h.
inline constexpr std::uint32_t kSourceFloats = 0;
inline constexpr std::uint32_t kSourceDoubles = 1;
inline constexpr std::uint32_t kSourceItems = 2;

// Places have 32 bits, and loops over them add some hundred.
inline constexpr std::int64_t kMostDeviceCols = std::int64_t{1} << 31;
inline constexpr std::int64_t kAnyK = kMostDeviceCols;

struct SelectShape {
  std::int64_t rows;
  std::int64_t cols;  // at most kMostDeviceCols
  std::int64_t k;     // from 1 to cols
  bool largest;
};

struct SelectJob {
  gpu::Device& device;
  gpu::Queue& queue;
  SelectShape shape;
  const gpu::Buffer& values;  // rows x cols float32, close to each other
  gpu::Buffer& items;         // rows x k, in order; kNoDeviceItem where a row has fewer numbers
};

// Memory of the device that what is queued still needs.
using Scratch = std::vector<std::unique_ptr<gpu::Buffer>>;

struct DeviceSelector {
  std::string_view name;
  std::string_view description;
  std::int64_t most_k;
  std::int64_t (*scratch_bytes)(const SelectShape&);
  void (*run)(const SelectJob&, Scratch&);
};

// Those of selectors.def, in its order.
std::span<const DeviceSelector> device_selectors();
std::vector<const DeviceSelector*> selectors_for(std::int64_t k);

// The fastest for a shape: as measured (device/tuning_in_use.hpp), else by the default rules.
const DeviceSelector& choose_selector(const gpu::Facts& facts, const SelectShape& shape);

}  // namespace nearfield
