#include "search/match_tests.hpp"

#include <algorithm>
#include <cmath>

#include "core/fail.hpp"

namespace nearfield {
namespace {

// Of SIFT bytes as COLMAP makes them.
constexpr float kPerSquaredLength = 1.0F / (512.0F * 512.0F);

void check_metric_of(const MatchOptions& options) {
  const Metric metric = options.metric.metric;
  if (options.distance == MatchDistance::sift_angle) {
    if (metric == Metric::inner_product) return;
    fail(ErrorCode::invalid_argument,
         "the angle between SIFT bytes comes from their inner_product, not from {}",
         to_string(options.metric));
  }
  if (metric == Metric::sqeuclidean) {
    fail(ErrorCode::invalid_argument,
         "matches are tested by true distances, not by their squares: say euclidean");
  }
  if (info(options.metric).reported == Reported::similarity) {
    fail(ErrorCode::invalid_argument,
         "matches are tested by ratios of distances, and {} is a similarity: say euclidean, which "
         "orders vectors of one length as {} does",
         to_string(options.metric), to_string(options.metric));
  }
}

void check_not_below_zero(const std::optional<double>& value, const char* name) {
  if (!value || *value >= 0) return;
  fail(ErrorCode::invalid_argument, "{} must be 0 or more, got {}", name, *value);
}

}  // namespace

MatchTests::MatchTests(const MatchOptions& options) : options_(options) {
  check_metric_of(options);
  if (options.ratio && !(*options.ratio > 0 && *options.ratio <= 1)) {
    fail(ErrorCode::invalid_argument,
         "ratio must be above 0 and at most 1, got {}: leave it out to accept any", *options.ratio);
  }
  check_not_below_zero(options.margin, "margin");
  check_not_below_zero(options.max_distance, "max_distance");
}

double MatchTests::distance(double key) const {
  if (options_.distance == MatchDistance::reported) return reported_value(options_.metric, key);
  const float product = std::max(static_cast<float>(-key), 0.0F);  // none: a right angle
  return static_cast<double>(std::acos(std::min(kPerSquaredLength * product, 1.0F)));
}

bool MatchTests::pass(const TwoNearest& nearest) const {
  if (nearest.nearest == kNoNeighbor) return false;
  const double first = distance(nearest.nearest.key);
  const double second = distance(nearest.second);
  return !(options_.max_distance && !(first <= *options_.max_distance)) &&
         !(options_.ratio && !(first < *options_.ratio * second)) &&
         !(options_.margin && !(second - first >= *options_.margin));
}

}  // namespace nearfield
