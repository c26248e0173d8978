// The loop of scan.hpp where rows ask as queries do: each pair is looked at once.
#pragma once

#include "scan/scan.hpp"

namespace nearfield {

// What survives of a pair is consumed from both sides, so that half of the products do. If the sink
// is of one set, so is the grid. How many are verified depends on which thread is first; what is
// found does not.
ScanCounts scan_once(const ScanGrid& grid, const TwoSidedFilter& filter, const Verifier& verifier,
                     TwoSidedSink& sink, Monitor& monitor);

}  // namespace nearfield
