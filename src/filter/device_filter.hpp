// The filter of a search that runs on a device: it finds there the rows that are close enough, with
// their keys.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>

#include "device/default_choice.hpp"
#include "filter/filter_maker.hpp"

namespace nearfield {

// How a device finds pairs:
//   keys: every key, those up to a threshold are listed;
//   fused: of these the first of each query, in the kernel that makes them;
//   halves: products of halves with a proven bound, and the keys of what may be close;
//   bytes: exact products of bytes, those up to a threshold are listed;
//   two_bytes: of these the first two of each query, in the kernel that makes them.
enum class DeviceMethod : std::uint8_t { keys, fused, halves, bytes, two_bytes };
std::string_view to_string(DeviceMethod method);

// What is searched there. The context names the device.
struct DeviceSearch {
  MetricSpec metric;
  DType queries;
  DType rows;
  std::int64_t cols;
  std::int64_t query_count;
  std::int64_t row_count;
  // Of any rows, only the first so many by key and number can be found; 0: others too.
  std::int64_t first_of_any;
  int threads;              // at most so many ask the filter at once
  std::int64_t most_found;  // pairs of a block, for which the host has memory
  // Empty, or one that does not apply: the fastest.
  std::optional<DeviceMethod> method = {};
  std::int64_t least_half_cols = kDefaultChoice.least_half_cols;
};

// Of the host, for a pair that is found: as the device listed it, and put in order.
inline constexpr std::int64_t kFoundHostBytes = 32;
// Likewise, for a query: thresholds and limits, and what is known of it.
inline constexpr std::int64_t kQueryHostBytes = 64;
// Likewise, for each of its first, in each thread: they are read where thresholds come from.
inline constexpr std::int64_t kFirstHostBytes = 8;

// How much at a time fits the device, and its limit.
struct DeviceRoom {
  std::int64_t queries;
  std::int64_t rows;
  std::int64_t pairs;          // that are found in a block
  std::int64_t block_queries;  // of a block
  std::int64_t query_unit;     // of which it has whole ones, or the device makes more than is asked
  std::int64_t first_rows;     // of a block whose queries have no threshold yet
};

// Those that find what is searched: at least one.
std::vector<DeviceMethod> device_methods(const DeviceSearch& search);

class DeviceFilterMaker : public FilterMaker {
 public:
  virtual DeviceRoom room() const = 0;
};

// Of a device with float64. Throws memory_limit where not even one row fits.
std::unique_ptr<DeviceFilterMaker> make_device_filter(const DeviceSearch& search,
                                                      const Context& context);

}  // namespace nearfield
