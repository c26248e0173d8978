// The second step: the true key of each candidate.
#pragma once

#include <limits>
#include <span>

#include "core/monitor.hpp"
#include "filter/filter.hpp"

namespace nearfield {

// The key of a pair that may never be returned: a row or a query that is not finite.
inline constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

class Verifier {
 public:
  virtual ~Verifier() = default;

  // Writes the key of each candidate, query by query in their order, or kNever. Once a key is known
  // to be above its query's threshold, any value above it will do: an expensive metric may give up
  // there. Called from many threads; checks the monitor as it says, since all pairs of a block may
  // be candidates.
  virtual void keys(const Candidates& candidates, std::span<const double> thresholds,
                    std::span<double> out, const Monitor& monitor) const = 0;
};

}  // namespace nearfield
