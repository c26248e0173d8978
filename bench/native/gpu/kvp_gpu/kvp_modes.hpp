// Range queries on a device, in the three modes of a thesis: all distances that were computed come
// back and the host filters them, none of them does, and only results do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/native/gpu/measuring.hpp"
#include "index/pivot/gpu/metric_devices.hpp"

namespace nearfield::bench {

// Of its Fig. 2.4; its tables leave out the radius, the pool and what an object keeps.
inline constexpr double kKvpRadius = 0.4;
inline constexpr std::int64_t kKvpPool = 50;
inline constexpr std::int64_t kKvpKept = 8;

// Vectors of the cube [0, 1]^d as objects.
class KvpVectors {
 public:
  KvpVectors(std::int64_t rows, std::int64_t cols, std::uint64_t seed);

  std::vector<ObjectView> views() const;

 private:
  std::int64_t cols_;
  std::vector<double> values_;
};

enum class KvpMode : std::uint8_t { filter_on_host, no_transfer, filter_on_device };

// A query and a row.
using KvpPairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Of one index: without pivots every distance is computed, with them those of what they leave.
class KvpOnDevice {
 public:
  KvpOnDevice(const PivotOptions& options, const std::vector<ObjectView>& objects,
              const std::vector<ObjectView>& queries, const Context& context);
  ~KvpOnDevice();

  // Rising. What comes back of no_transfer is nothing.
  KvpPairs run(KvpMode mode);
  KvpPairs on_cpu() const;

 private:
  const std::vector<ObjectView>& queries_;
  MetricState state_;
  std::optional<ObjectBounds> bounds_;
  std::optional<DeviceListers> on_;
};

}  // namespace nearfield::bench
