// Lower bounds of distances from distances to pivots, 64 objects at a time.
//
// Distances are whole numbers of buckets. 64 objects make a block, of which each slot has the
// bucket of every object to one pivot; where an object keeps some of its pivots only, 64 pivot
// numbers follow. So a search reads a table once, from its beginning to its end.
#pragma once

#include <array>
#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

inline constexpr std::int64_t kMostPivotPool = 256;

// What a query knows of each pivot. An object in bucket b of it is at least b - above, and at least
// below - b buckets away from the query.
struct PivotReach {
  std::array<std::uint8_t, kMostPivotPool> above{};
  std::array<std::uint8_t, kMostPivotPool> below{};
  std::array<double, kMostPivotPool> distances{};
};

struct PivotScan {
  const std::uint8_t* blocks;
  std::int64_t block_count;
  std::int64_t block_bytes;
  std::int64_t slots;  // looked at, the first of a block
  std::int64_t pool;   // pivots there are
  const PivotReach* reach;
  std::uint8_t* levels;  // 64 for each block: raised
};

struct BoundKernels {
  void (*all_pivots)(const PivotScan& scan);   // slot i is of pivot i
  void (*kept_pivots)(const PivotScan& scan);  // a slot says which pivots it is of
};

// Of an ISA that is available here.
const BoundKernels& bound_kernels(Isa isa);

}  // namespace nearfield
