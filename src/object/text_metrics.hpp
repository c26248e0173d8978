// Metrics of texts, compiled.
#pragma once

#include <memory>

#include <nearfield/object_metric.hpp>

namespace nearfield {

std::shared_ptr<const ObjectMetric> edit_metric();
std::shared_ptr<const ObjectMetric> damerau_metric();

bool is_edit_metric(const ObjectMetric& metric);

}  // namespace nearfield
