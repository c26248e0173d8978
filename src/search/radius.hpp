#pragma once

#include <nearfield/metric.hpp>

namespace nearfield {

// A radius in what the metric reports, inclusive.
class Radius {
 public:
  // Throws invalid_argument if it is NaN.
  Radius(MetricSpec metric, double radius);

  // No key above this is within the radius.
  double largest_key() const;

  // Whether a key is: its reported value, in float64, decides; for lp, a finite key of at most
  // radius^p is within too.
  bool admits(double key) const;

 private:
  MetricSpec metric_;
  double radius_;
  double key_;  // of the radius
};

}  // namespace nearfield
