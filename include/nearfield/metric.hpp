// Metrics: their names, and how a key becomes the number a user reads.
#pragma once

#include <span>
#include <string_view>

#include <nearfield/metric_kinds.hpp>

namespace nearfield {

enum class Metric {
#define NEARFIELD_METRIC(name, description) name,
#include <nearfield/metrics.def>
#undef NEARFIELD_METRIC
};

struct MetricInfo {
  Metric metric;
  std::string_view name;
  std::string_view description;
  MetricInput input;
  Reported reported;
};

// All metrics of metrics.def, in its order.
std::span<const MetricInfo> metrics();

const MetricInfo& info(Metric metric);
std::string_view to_string(Metric metric);

// Throws invalid_argument with the list of names.
Metric parse_metric(std::string_view name);

// The reported value of a key, in float64.
double reported_value(Metric metric, double key);

}  // namespace nearfield
