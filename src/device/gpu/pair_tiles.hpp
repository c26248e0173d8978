// Queries x rows, in tiles that fit the memory of a device.
#pragma once

#include <cstdint>
#include <string_view>

#include <nearfield/context.hpp>

#include "core/monitor.hpp"
#include "device/gpu/gpu.hpp"

namespace nearfield::gpu {

struct TileSize {
  std::int64_t queries;
  std::int64_t rows;
};

// What is done with tiles. Both may throw OutOfMemory, and are then asked for smaller ones.
class PairWork {
 public:
  virtual ~PairWork() = default;

  // On the device.
  virtual std::int64_t bytes(TileSize tile) const = 0;
  // Brings rows [first, first + count) to the device, instead of those before.
  virtual void take_rows(std::int64_t first, std::int64_t count, std::int64_t most_queries) = 0;
  // Queries [first, first + count) with those rows. Returns when that is done.
  virtual void run(std::int64_t first, std::int64_t count) = 0;
};

struct PairLimits {
  std::int64_t most_pairs;  // of a tile: between two of them a call can be cancelled
  TileSize most;
  std::int64_t least;  // queries or rows: tiles are not made smaller
};

// Tiles are as small as the context asks for, and smaller where the device has no memory for them.
// `what` is made of pairs, for messages.
void run_in_tiles(const Device& device, TileSize all, const PairLimits& limits, PairWork& work,
                  const Context& context, Monitor& monitor, std::string_view what);

}  // namespace nearfield::gpu
