// Metrics: their names, and how a key becomes the number a user reads.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nearfield/metric_kinds.hpp>

namespace nearfield {

enum class Metric {
#define NEARFIELD_METRIC(name, description) name,
#include <nearfield/metrics.def>
#undef NEARFIELD_METRIC
};

// A metric with what it needs: Metric::l1 as it stands, or lp(1.5).
struct MetricSpec {
  constexpr MetricSpec(Metric name, double exponent = 0)  // NOLINT(google-explicit-constructor)
      : metric(name), p(exponent) {}

  Metric metric;
  double p;  // the exponent of lp; 0 for every other metric

  friend bool operator==(const MetricSpec&, const MetricSpec&) = default;
};

// From 0.01 to 1000; below 1 the triangle inequality does not hold. lp(2) and euclidean are equal
// in value, and euclidean is faster.
inline constexpr double kLeastP = 0.01;
inline constexpr double kMostP = 1000;
constexpr MetricSpec lp(double p) { return {Metric::lp, p}; }

struct MetricInfo {
  Metric metric;
  std::string_view name;
  std::string_view description;
  MetricInput input;
  Reported reported;
  bool needs_p;
};

// All metrics of metrics.def, in its order.
std::span<const MetricInfo> metrics();

const MetricInfo& info(MetricSpec metric);
std::string to_string(MetricSpec metric);  // "l1", "lp:1.5"

// The same texts. Throws invalid_argument with the list of names.
MetricSpec parse_metric(std::string_view text);

// Throws invalid_argument for an lp without a valid p, and for a p that means nothing.
void check_metric(MetricSpec metric);

// The reported value of a key, in float64.
double reported_value(MetricSpec metric, double key);

// The other way, rounded; -inf for a value that is never reported, such as a negative root.
double key_of(MetricSpec metric, double reported);

}  // namespace nearfield
