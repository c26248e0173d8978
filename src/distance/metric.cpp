#include <nearfield/metric.hpp>

#include <array>
#include <cmath>
#include <string>

#include "core/fail.hpp"

#define NEARFIELD_INLINE inline

namespace nearfield {
namespace {

// The metrics' own words about themselves, read as plain C++.
namespace plain {

// Not sorted: the metrics need what is above them.
// clang-format off
#include "distance/scalar_operations.h"
#include "distance/all_metrics.inc"
// clang-format on

}  // namespace plain

constexpr std::array kMetrics{
#define NEARFIELD_METRIC(name, description) \
  MetricInfo{Metric::name, #name, description, plain::name::input, plain::name::reported},
#include <nearfield/metrics.def>
#undef NEARFIELD_METRIC
};

}  // namespace

std::span<const MetricInfo> metrics() { return kMetrics; }

const MetricInfo& info(Metric metric) { return kMetrics[static_cast<std::size_t>(metric)]; }

std::string_view to_string(Metric metric) { return info(metric).name; }

Metric parse_metric(std::string_view name) {
  std::string known;
  for (const MetricInfo& candidate : kMetrics) {
    if (candidate.name == name) return candidate.metric;
    known += (known.empty() ? "" : ", ") + std::string(candidate.name);
  }
  fail(ErrorCode::invalid_argument, "unknown metric '{}', expected one of {}", name, known);
}

double reported_value(Metric metric, double key) {
  switch (info(metric).reported) {
    case Reported::key:
      break;
    case Reported::root:
      return std::sqrt(key);
    case Reported::similarity:
      return 0.0 - key;  // not -key, which is -0 for a similarity of 0
  }
  return key;
}

}  // namespace nearfield
