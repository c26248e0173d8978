// Codes that are the same, which a join would compare each with each.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "dedup/disjoint_sets.hpp"

namespace nearfield {

// Joins rows whose codes are the same, and gives the first row of each code, rising. Throws
// invalid_argument where unused bits are set. Advances by the rows.
std::vector<std::uint32_t> join_same_codes(MatrixView codes, DisjointSets& sets, int threads,
                                           Monitor& monitor);
// What it takes, without what it gives.
std::int64_t bytes_to_join_same_codes(std::int64_t rows, int threads);

}  // namespace nearfield
