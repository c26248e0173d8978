// All that a MetricIndex is: what its writers change and its readers and files read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <nearfield/metric_index.hpp>

#include "index/device_copies.hpp"
#include "index/pivot/object_filter.hpp"
#include "index/pivot/object_ids.hpp"
#include "object/object_list.hpp"

namespace nearfield {

struct MetricState {
  MetricState(std::shared_ptr<const ObjectMetric> its_metric, const PivotOptions& its_options)
      : metric(std::move(its_metric)), options(its_options), objects(*metric), filter(*metric) {}

  std::shared_ptr<const ObjectMetric> metric;
  PivotOptions options;
  ObjectList objects;
  ObjectIds ids;
  ObjectFilter filter;
  std::int64_t chosen_from = 0;  // objects there were when pivots were chosen
  std::int64_t distances = 0;    // computed so far
  std::shared_ptr<const void> file;
  // Of objects and filter as they are: another one as soon as they change.
  std::shared_ptr<const DeviceCopies> copies = std::make_shared<DeviceCopies>();
};

// Throws invalid_argument for none, and for one that cannot be used.
void check_given(const ObjectMetric* metric);

// Throws invalid_argument for values out of range, and for what is said of no pivots.
void check_pivot_options(const PivotOptions& options);

Neighbors search_metric(const MetricState& state, std::span<const ObjectView> queries,
                        const MetricSearchOptions& options, const Context& context);
Ranges metric_within(const MetricState& state, std::span<const ObjectView> queries,
                     const MetricRangeOptions& options, const Context& context);
Pairs metric_pairs(const MetricState& state, const MetricPairsOptions& options,
                   const Context& context);
Pairs metric_pairs(const MetricState& state, std::span<const ObjectView> others,
                   const MetricPairsOptions& options, const Context& context);

void write_metric_file(const MetricState& state, const std::string& path, const Context& context);
MetricState open_metric_file(const std::string& path,
                             const std::shared_ptr<const ObjectMetric>& metric,
                             const OpenOptions& options);

}  // namespace nearfield
