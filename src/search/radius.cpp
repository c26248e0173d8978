#include "search/radius.hpp"

#include <cmath>
#include <limits>

#include "core/fail.hpp"

namespace nearfield {
namespace {

bool is_root(Reported reported) {
  return reported == Reported::root || reported == Reported::p_th_root;
}

// A power and the root that undoes it round: in the logarithm by at most 745 x 2^-53 for the
// exponent 1/p and 1000 x 2^-51 for the root, which together is below 2^-40 (2^-41.8 is the most
// that was seen). Where what is reported is subnormal, the steps of the reported value are larger:
// two of them are taken.
double largest_key_of(MetricSpec metric, double radius) {
  constexpr double kStep = std::numeric_limits<double>::denorm_min();
  const double key = key_of(metric, radius + 2 * kStep);
  return key + key * 0x1p-40 + 4 * kStep;
}

}  // namespace

Radius::Radius(MetricSpec metric, double radius)
    : metric_(metric), radius_(radius), key_(key_of(metric, radius)) {
  if (std::isnan(radius)) {
    fail(ErrorCode::invalid_argument, "the radius is a number, got NaN");
  }
}

double Radius::largest_key() const {
  return key_ >= 0 && is_root(info(metric_).reported) ? largest_key_of(metric_, radius_) : key_;
}

bool Radius::admits(double key) const {
  const double value = reported_value(metric_, key);
  const Reported reported = info(metric_).reported;
  if (reported == Reported::similarity) return value >= radius_;
  // The 5th root of 32 = 2^5 is reported a last bit above 2, since 1/5 rounds up.
  const bool on_radius = reported == Reported::p_th_root && std::isfinite(key) && key <= key_;
  return value <= radius_ || on_radius;
}

}  // namespace nearfield
