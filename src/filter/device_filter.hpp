// The filter of a search that runs on a device: it finds there the rows that are close enough, with
// their keys.
#pragma once

#include <cstdint>
#include <memory>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>

#include "filter/filter_maker.hpp"

namespace nearfield {

// What is searched there. The context names the device.
struct DeviceSearch {
  MetricSpec metric;
  DType queries;
  DType rows;
  std::int64_t cols;
  int threads;              // at most so many ask the filter at once
  std::int64_t most_found;  // pairs of a block, for which the host has memory
};

// Of the host, for a pair that is found: as the device listed it, and put in order.
inline constexpr std::int64_t kFoundHostBytes = 32;
// Likewise, for a query: thresholds and limits, and what is known of it.
inline constexpr std::int64_t kQueryHostBytes = 64;

// How much at a time fits the device, and its limit.
struct DeviceRoom {
  std::int64_t queries;
  std::int64_t rows;
  std::int64_t pairs;  // that are found in a block
};

// What a search there uses that is not told otherwise. Tests change it between searches.
struct DeviceTuning {
  // Of fewer columns, keys cost little more than what proves that they are not needed.
  std::int64_t least_half_cols = 33;
};
DeviceTuning& device_tuning();

class DeviceFilterMaker : public FilterMaker {
 public:
  virtual DeviceRoom room() const = 0;
};

// Of a device with float64. Throws memory_limit where not even one row fits.
std::unique_ptr<DeviceFilterMaker> make_device_filter(const DeviceSearch& search,
                                                      const Context& context);

}  // namespace nearfield
