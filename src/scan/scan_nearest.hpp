// The loop where rows ask as queries do, and nobody wants more than the two nearest.
#pragma once

#include "scan/scan.hpp"

namespace nearfield {

// Whether scan_nearest can tell.
bool keeps_nearest(const ScanGrid& grid, const TwoSidedFilter& filter, TwoSidedSink& sink);

// As scan_once, of two sets: filter and selection are one step, since a pair that is kept for a
// while takes longer than a thousand products.
ScanCounts scan_nearest(const ScanGrid& grid, const NearestFilter& filter, NearestKeysSink& sink,
                        Monitor& monitor);

}  // namespace nearfield
