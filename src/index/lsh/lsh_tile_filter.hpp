// Rows that queries have met, compared with several of these at once by products of tiles.
#pragma once

#include <cstdint>
#include <memory>

#include <nearfield/metric.hpp>

#include "index/lsh/lsh_tables.hpp"
#include "search/plan.hpp"

namespace nearfield {

class FilterMaker;

// Of the same rows as the filter that compares pairs, those that the thresholds let through. Throws
// unsupported where the ISA has no tiles for the types.
std::unique_ptr<FilterMaker> make_lsh_tiles(const LshRun& run, std::int64_t probes,
                                            MetricSpec metric, DType queries, DType rows, Isa isa);

// What that needs.
void add_lsh_tiles_to(SearchShape& shape, const LshRun& run, std::int64_t probes);

}  // namespace nearfield
