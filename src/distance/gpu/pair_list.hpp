// Pairs of a query and a row that kernels find (pair_list.h), and their keys.
#pragma once

#include <cstdint>
#include <memory>

#include "device/gpu/gpu.hpp"

namespace nearfield {

// Memory of the device for so many pairs, without keys.
struct PlaceList {
  static constexpr std::int64_t kPlaceBytes = 8;

  PlaceList(gpu::Device& device, std::int64_t room)
      : most(room),
        count(device.allocate(sizeof(std::uint32_t))),
        places(device.allocate(room * kPlaceBytes)) {}

  std::int64_t most;
  std::unique_ptr<gpu::Buffer> count;   // of those that were found, also without room: 32 bits
  std::unique_ptr<gpu::Buffer> places;  // 64 bits: the query above, the row below
};

struct PairList : PlaceList {
  static constexpr std::int64_t kPairBytes = 16;  // a place and a key

  PairList(gpu::Device& device, std::int64_t room)
      : PlaceList(device, room), keys(device.allocate(room * 8)) {}

  std::unique_ptr<gpu::Buffer> keys;  // float64
};

}  // namespace nearfield
