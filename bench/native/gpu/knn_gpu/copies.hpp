// What a search copies between host and device, and nothing else.
#pragma once

#include "bench/native/gpu/knn_gpu/searches.hpp"
#include "bench/native/gpu/measuring.hpp"

namespace nearfield::bench {

// Queries and rows.
Contender copied_there(const Search& search, const Measuring& measuring);

// As many bytes as k ids and keys of each query have: 16 a neighbour.
Contender copied_back(const Search& search, std::int64_t k, const Measuring& measuring);

}  // namespace nearfield::bench
