// Whether a nearest row is a match.
#pragma once

#include <nearfield/match.hpp>

#include "scan/nearest_sink.hpp"

namespace nearfield {

// Throws invalid_argument where the options contradict each other or the types, or mean nothing.
void check_match(const MatchOptions& options, DType first, DType second);

bool passes_tests(const MatchOptions& options, const TwoNearest& nearest);

// MatchDistance::sift_angle, of a key of Metric::inner_product.
float sift_angle(double key);

}  // namespace nearfield
