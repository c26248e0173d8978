#include "search/match_tests.hpp"

#include <algorithm>
#include <cmath>

#include "core/fail.hpp"

namespace nearfield {
namespace {

// Of SIFT bytes as COLMAP makes them.
constexpr float kPerSquaredLength = 1.0F / (512.0F * 512.0F);

void check_angle(const MatchOptions& options, DType first, DType second) {
  if (options.metric.metric != Metric::inner_product) {
    fail(ErrorCode::invalid_argument,
         "the angle between SIFT bytes comes from their inner_product, not from {}",
         to_string(options.metric));
  }
  if (first != DType::u8 || second != DType::u8) {
    fail(ErrorCode::invalid_argument,
         "sift_angle takes descriptors for bytes of length 512, u8 and not {} and {}: match others "
         "by euclidean",
         to_string(first), to_string(second));
  }
}

void check_metric_of(const MatchOptions& options) {
  const Metric metric = options.metric.metric;
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

// Number: what distances are compared in.
template <class Number>
bool passes(const MatchOptions& options, Number first, Number second) {
  if (options.max_distance && !(first <= static_cast<Number>(*options.max_distance))) return false;
  if (options.ratio && !(first < static_cast<Number>(*options.ratio) * second)) return false;
  return !options.margin || second - first >= static_cast<Number>(*options.margin);
}

}  // namespace

void check_match(const MatchOptions& options, DType first, DType second) {
  if (options.distance == MatchDistance::sift_angle) {
    check_angle(options, first, second);
  } else {
    check_metric_of(options);
  }
  if (options.ratio && !(*options.ratio > 0 && *options.ratio <= 1)) {
    fail(ErrorCode::invalid_argument,
         "ratio must be above 0 and at most 1, got {}: leave it out to accept any", *options.ratio);
  }
  check_not_below_zero(options.margin, "margin");
  check_not_below_zero(options.max_distance, "max_distance");
}

float sift_angle(double key) {
  const float product = std::max(static_cast<float>(-key), 0.0F);  // none: a right angle
  return std::acos(std::min(kPerSquaredLength * product, 1.0F));
}

bool passes_tests(const MatchOptions& options, const TwoNearest& nearest) {
  if (nearest.nearest == kNoNeighbor) return false;
  if (options.distance == MatchDistance::sift_angle) {
    return passes(options, sift_angle(nearest.nearest.key), sift_angle(nearest.second));
  }
  return passes(options, reported_value(options.metric, nearest.nearest.key),
                reported_value(options.metric, nearest.second));
}

}  // namespace nearfield
