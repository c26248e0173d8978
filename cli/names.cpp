#include "names.hpp"

#include <nearfield/isa.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/object_metrics.hpp>
#include <nearfield/quantize.hpp>

namespace nearfield::cli {

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const MetricInfo& metric : metrics()) {
    names.push_back(std::string(metric.name) + (metric.needs_p ? ":P" : ""));
  }
  return names;
}

std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (const Isa isa : available_isas()) {
    names.emplace_back(to_string(isa));
  }
  return names;
}

std::vector<std::string> device_kinds() { return {"cpu", "cuda", "opencl"}; }

std::vector<std::string> effort_names() { return {"quick", "full"}; }
std::vector<std::string> cross_check_names() { return {"none", "nearest", "tested"}; }
std::vector<std::string> pivot_choice_names() {
  return {"random", "max_separation", "incremental"};
}

std::vector<std::string> text_metric_names() {
  std::vector<std::string> names;
  for (const ObjectMetricInfo& metric : object_metrics()) {
    if (metric.input == ObjectInput::text) names.emplace_back(metric.name);
  }
  return names;
}

std::vector<std::string> code_metric_names() {
  std::vector<std::string> names;
  for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::inner_product}) {
    names.push_back(to_string(MetricSpec(metric)));
  }
  return names;
}

std::vector<std::string> quantizer_kind_names() {
  std::vector<std::string> names;
  for (int kind = 0; kind < kQuantizerKindCount; ++kind) {
    names.emplace_back(to_string(static_cast<QuantizerKind>(kind)));
  }
  return names;
}

std::vector<std::string> relaxation_names() {
  std::vector<std::string> names;
  for (const auto each : {Relaxation::none, Relaxation::codebooks, Relaxation::rows}) {
    names.emplace_back(to_string(each));
  }
  return names;
}

std::vector<std::string> file_type_names() {
  std::vector<std::string> names;
  for (const DType type : kFileTypes) {
    names.emplace_back(to_string(type));
  }
  return names;
}

}  // namespace nearfield::cli
