// How a device finds the pairs of a block that are close enough, and their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <nearfield/matrix.hpp>

#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"
#include "filter/filter.hpp"

namespace nearfield {

class PairFinder {
 public:
  virtual ~PairFinder() = default;

  // On the device, of each.
  virtual std::int64_t query_bytes() const = 0;
  virtual std::int64_t row_bytes() const = 0;
  virtual std::int64_t limit_bytes() const = 0;
  // Beside those, of all queries, and once more of all rows.
  virtual std::int64_t padding_bytes() const { return 0; }

  // Bring them to the device, instead of those before. The queue may still have to read them.
  virtual void take_queries(gpu::Queue& queue, MatrixView queries) = 0;
  virtual void take_rows(gpu::Queue& queue, MatrixView rows) = 0;

  // What the device compares with, of some queries and their thresholds: limit_bytes() each.
  virtual void write_limits(Range queries, std::span<const double> thresholds,
                            std::byte* limits) const = 0;

  // Lists the pairs that are not proven to be above their threshold, with their keys; queries and
  // rows numbered from the first of the block, which counts from the first that were taken.
  virtual void find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
                    const PairList& found) const = 0;

  virtual std::string name() const = 0;
};

}  // namespace nearfield
