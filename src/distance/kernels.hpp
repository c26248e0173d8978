// Keys of one query and many rows, by metric, type and ISA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/isa.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "distance/row_loader.hpp"

#ifdef __FAST_MATH__
#error "Keys are defined to the last bit: build without -ffast-math"
#endif

namespace nearfield {

struct KeyJob {
  const std::byte* query;      // from PreparedQuery
  const std::byte* rows;       // row 0
  std::int64_t stride;         // bytes
  std::int64_t row_bytes;      // of a row's values
  const std::uint32_t* picks;  // which rows; null: 0 to count - 1
  std::int64_t count;
  double p;      // of lp
  double* keys;  // count of them
};

using KeyKernel = void (*)(const KeyJob&);

// The kernels of one metric on one ISA.
struct MetricKernels {
  const char* target;                       // Highway's namespace they were compiled in
  std::array<KeyKernel, kDTypeCount> keys;  // by DType; null where the metric does not read it
};

inline constexpr std::size_t kMetricCount = 0
#define NEARFIELD_METRIC(name, description) +1
#include <nearfield/metrics.def>
#undef NEARFIELD_METRIC
    ;

struct DistanceKernels {
  Isa isa;
  std::array<MetricKernels, kMetricCount> metrics;  // by Metric
};

// The table of one ISA, never changed; throws unsupported if it was not built or this CPU lacks it.
const DistanceKernels& distance_kernels(Isa isa);

// Which one a call takes. Throws unsupported as distance_kernels does.
Isa isa_of(const Context& context);

// A query as the kernels read it: float64 (or the bits as they are), zero-padded to whole steps of
// eight, aligned. Zeros add nothing to any metric.
class PreparedQuery {
 public:
  PreparedQuery(DType dtype, std::int64_t cols, Isa isa);

  // False if a value is not finite.
  bool load(const std::byte* row);
  const std::byte* data() const;
  std::span<const double> numbers() const;  // not of bits

 private:
  struct alignas(64) Step {
    std::array<double, 8> values{};
  };
  std::int64_t cols_;
  RowLoader load_;  // null for bits
  std::vector<Step> steps_;
};

}  // namespace nearfield
