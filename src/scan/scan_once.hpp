// The loop of scan.hpp over the rows of one set, each pair of them once.
#pragma once

#include "scan/scan.hpp"

namespace nearfield {

// Queries and rows of the grid are one set. What survives of a pair is consumed from both sides, so
// that half of the products do. How many are verified depends on which thread is first; what is
// found does not.
ScanCounts scan_once(const ScanGrid& grid, const TwoSidedFilter& filter, const Verifier& verifier,
                     TwoSidedSink& sink, Monitor& monitor);

}  // namespace nearfield
