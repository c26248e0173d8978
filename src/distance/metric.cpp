#include <nearfield/metric.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "distance/power_of.hpp"

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

template <class M>
constexpr bool kNeedsP = requires(M metric) { metric.p; };

constexpr std::array kMetrics{
#define NEARFIELD_METRIC(name, description)                                                      \
  MetricInfo{Metric::name,        #name, description, plain::name::input, plain::name::reported, \
             kNeedsP<plain::name>},
#include <nearfield/metrics.def>
#undef NEARFIELD_METRIC
};

double parse_exponent(std::string_view text) {
  double p = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, p);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    fail(ErrorCode::invalid_argument, "'{}' is not the exponent of a metric: write lp:3 or lp:0.5",
         text);
  }
  return p;
}

}  // namespace

std::span<const MetricInfo> metrics() { return kMetrics; }

const MetricInfo& info(MetricSpec metric) {
  return kMetrics[static_cast<std::size_t>(metric.metric)];
}

std::string to_string(MetricSpec metric) {
  return metric.p == 0 ? std::string(info(metric).name)
                       : fmt::format("{}:{}", info(metric).name, metric.p);
}

MetricSpec parse_metric(std::string_view text) {
  const std::size_t colon = text.find(':');
  std::string known;
  for (const MetricInfo& candidate : kMetrics) {
    if (candidate.name == text.substr(0, colon)) {
      MetricSpec metric = candidate.metric;
      if (colon != std::string_view::npos) metric.p = parse_exponent(text.substr(colon + 1));
      check_metric(metric);
      return metric;
    }
    known += fmt::format("{}{}{}", known.empty() ? "" : ", ", candidate.name,
                         candidate.needs_p ? ":P" : "");
  }
  fail(ErrorCode::invalid_argument, "unknown metric '{}', expected one of {}", text, known);
}

void check_metric(MetricSpec metric) {
  const MetricInfo& known = info(metric);
  if (!known.needs_p && metric.p != 0) {
    fail(ErrorCode::invalid_argument, "{} has no exponent, got {}: only lp has one", known.name,
         metric.p);
  }
  if (known.needs_p && !(metric.p >= kLeastP && metric.p <= kMostP)) {
    fail(ErrorCode::invalid_argument,
         "{} needs an exponent from {} to {}, got {}: lp(3) in C++, lp:3 as text; for the largest "
         "difference there is linf",
         known.name, kLeastP, kMostP, metric.p);
  }
}

double reported_value(MetricSpec metric, double key) {
  switch (info(metric).reported) {
    case Reported::key:
      break;
    case Reported::root:
      return std::sqrt(key);
    case Reported::similarity:
      return 0.0 - key;  // not -key, which is -0 for a similarity of 0
    case Reported::p_th_root:
      return plain::power(key, 1 / metric.p);
  }
  return key;
}

// Of exponents beyond those of metrics 2p need not be an int. 2^70 already makes 0 of every x below
// 1.
double power_of(double x, double p) {
  constexpr double kLargest = 0x1p70;
  return p <= kMostP ? plain::power(x, p) : plain::any_power(x, std::min(p, kLargest));
}

double key_of(MetricSpec metric, double reported) {
  switch (info(metric).reported) {
    case Reported::key:
      break;
    case Reported::root:
      return reported < 0 ? -kInfinity : reported * reported;
    case Reported::similarity:
      return 0.0 - reported;
    case Reported::p_th_root:
      return reported < 0 ? -kInfinity : plain::power(reported, metric.p);
  }
  return reported;
}

}  // namespace nearfield
