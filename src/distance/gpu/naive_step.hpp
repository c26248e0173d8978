// What products are held against in measurements: distances a warp a pair, and tables of halves.
#pragma once

#include <cstdint>

#include "distance/gpu/key_step.hpp"

namespace nearfield {

// found: queries x rows squared distances, float32; both of one type of those that products
// are made of, of `cols`. At most gpu::Grid::kMostY queries.
void naive_distances(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
                     std::int64_t cols, const gpu::Buffer& found);

// `count` float32 become halves, multiplied by two to the power of `scale` before and divided
// after.
void round_to_halves(gpu::Queue& queue, const gpu::Buffer& values, std::int64_t count, int scale);

}  // namespace nearfield
