// What of the paper on error-weighted hashing is measured here, and the recall that it leaves out.
#pragma once

#include <string>

#include "bench/native/gpu/measuring.hpp"

namespace nearfield::bench {

// folder: of bits-512 of bench/datasets. Size::tiny needs none.
void measure_hashing(Measuring& measuring, const std::string& folder);
void measure_hashing_shares(Measuring& measuring, const std::string& folder);
void measure_retrieval(Measuring& measuring, const std::string& folder);
void measure_shares(Measuring& measuring, const std::string& folder);
void measure_tables(Measuring& measuring, const std::string& folder);    // recall, by n and h
void measure_nearness(Measuring& measuring, const std::string& folder);  // recall, by `near`

}  // namespace nearfield::bench
