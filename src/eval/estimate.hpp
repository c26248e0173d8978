// The mean of what queries found, with its interval.
#pragma once

#include <cstdint>
#include <span>

#include <nearfield/eval.hpp>

namespace nearfield {

// Wilson's 95 % interval of a proportion `mean` in `count` trials, which need not be whole.
Estimate wilson(double mean, double count);

// What one query found of all that there was to find.
struct Share {
  std::int64_t right;
  std::int64_t all;
};

// The mean over queries. The interval is Wilson's with as many trials as would scatter like these
// shares; shares of 0 and 1 are the trials themselves.
Estimate estimate(std::span<const Share> shares);

}  // namespace nearfield
