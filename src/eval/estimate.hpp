// A mean of values from 0 to 1, one a query, with its interval.
#pragma once

#include <span>

#include <nearfield/eval.hpp>

namespace nearfield {

// Wilson's 95 % interval of a proportion `mean` in `count` trials, which need not be whole.
Estimate wilson(double mean, double count);

// Wilson's interval with as many trials as would scatter like these values. Values of 0 and 1 are
// the trials themselves.
Estimate estimate(std::span<const double> values);

}  // namespace nearfield
