// The figures of the thesis that are measured here (seed: Hanák 2023, chapter 5).
#pragma once

#include "bench/native/gpu/measuring.hpp"

namespace nearfield::bench {

void measure_distances(Measuring& measuring);         // 5.1
void measure_selections(Measuring& measuring);        // 5.6
void measure_parts(Measuring& measuring);             // 5.7
void measure_fused(Measuring& measuring);             // 5.8
void measure_fused_queries(Measuring& measuring);     // 5.9
void measure_large_selections(Measuring& measuring);  // 5.11
void measure_searches(Measuring& measuring);          // 5.12
void measure_speed_up(Measuring& measuring);          // 5.13
void measure_transfer(Measuring& measuring);          // 5.14

}  // namespace nearfield::bench
