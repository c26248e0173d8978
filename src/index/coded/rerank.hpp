// The nearest by their codes, put in order by their vectors.
#pragma once

#include <cstdint>
#include <span>

#include "index/family.hpp"

namespace nearfield {

// `chosen` rows of those that a finder of codes finds, of all pieces together; of these, and of all
// rows of pieces without a finder, the k nearest.
Neighbors search_reranked(const Family& flat, MetricSpec metric, MatrixView queries,
                          std::span<const AskedPart> pieces, std::int64_t chosen, std::int64_t k,
                          const Context& context);

}  // namespace nearfield
