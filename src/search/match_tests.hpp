// Whether a nearest row is a match.
#pragma once

#include <nearfield/match.hpp>

#include "scan/nearest_sink.hpp"

namespace nearfield {

class MatchTests {
 public:
  // Throws invalid_argument where the options contradict each other or mean nothing.
  explicit MatchTests(const MatchOptions& options);

  bool pass(const TwoNearest& nearest) const;
  double distance(double key) const;

 private:
  const MatchOptions& options_;
};

}  // namespace nearfield
