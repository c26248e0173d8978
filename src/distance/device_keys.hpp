// Keys of many queries and rows, on a device, and rows that have none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>

#include "core/monitor.hpp"
#include "device/placed.hpp"

namespace nearfield {

// That a context names. Keys are float64: one without has none to give.
struct KeyDevice {
  std::string id;
  std::string name;
  std::string driver;
  bool has_float64;
};
KeyDevice key_device(const Context& context);

// keys: queries x rows. Both of types that the metric reads, and of one width. keys_at_once: at
// most about so many between two looks at the monitor. The context names a device, which has
// float64. Says how it read the arrays.
std::string device_keys(const PlacedRows& queries, const PlacedRows& rows, MetricSpec metric,
                        std::int64_t keys_at_once, const Context& context, Monitor& monitor,
                        double* keys);

// Of each row of floats, whether it has a NaN or an infinity; of bits, whether one is set beyond
// its columns. Found on the device that the context names.
std::vector<bool> device_flaws(const PlacedRows& rows, const Context& context,
                               const Monitor& monitor);
// Of the host, while it finds them.
std::int64_t device_flaws_bytes(const PlacedRows& rows);

}  // namespace nearfield
