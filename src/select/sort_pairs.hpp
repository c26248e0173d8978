// The total order of many pairs at once.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/results.hpp>

namespace nearfield {

// Below this std::sort is as fast.
inline constexpr std::int64_t kRadixFrom = 64;

// Sorts by key, then id. dtype: f32 if all keys are float32 values, else f64. `spare` holds as many
// where there are kRadixFrom or more.
void sort_pairs(DType dtype, std::vector<Neighbor>& pairs, std::vector<Neighbor>& spare);

}  // namespace nearfield
