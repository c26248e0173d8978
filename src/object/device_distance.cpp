#include "object/device_distance.hpp"

#include <limits>
#include <vector>

#include <nearfield/object_metrics.hpp>

#include "object/text_metrics.hpp"

namespace nearfield {

DeviceDistance device_distance(const ObjectMetric& metric) {
  if (is_edit_metric(metric)) return DeviceDistance::edit;
  if (metric.any_thread() && !metric.device_source().empty()) return DeviceDistance::callers;
  if (dynamic_cast<const TypedMetric<std::vector<double>, LpDistance>*>(&metric) == nullptr) {
    return DeviceDistance::none;
  }
  const std::string name = metric.name();
  if (name == LpDistance(1).name) return DeviceDistance::l1;
  if (name == LpDistance(2).name) return DeviceDistance::l2;
  if (name == LpDistance(std::numeric_limits<double>::infinity()).name) {
    return DeviceDistance::largest_difference;
  }
  return DeviceDistance::none;
}

}  // namespace nearfield
