// Files of k neighbours a query: of knn, graph and groundtruth.
#pragma once

#include <cstdint>

#include <nearfield/results.hpp>

#include "search_options.hpp"

namespace nearfield::cli {

// What the files could not hold is refused before it is computed. Any of `rows` ids may be found.
void check_fits(const OutputOptions& output, std::int64_t rows, std::int64_t k);

void write_neighbors(const OutputOptions& output, const Neighbors& found);

std::int64_t count_of(const Neighbors& found);

}  // namespace nearfield::cli
