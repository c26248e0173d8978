// Finds close pairs by the keys of all: any metric, any type.
#pragma once

#include "distance/gpu/key_step.hpp"
#include "filter/device_filter.hpp"
#include "filter/gpu/pair_finder.hpp"

namespace nearfield {

class KeyFinder final : public PairFinder {
 public:
  KeyFinder(gpu::Device& device, const DeviceSearch& search);

  std::int64_t query_bytes() const override;
  std::int64_t row_bytes() const override;
  std::int64_t limit_bytes() const override { return sizeof(double); }
  void take_queries(gpu::Queue& queue, MatrixView queries) override;
  void take_rows(gpu::Queue& queue, MatrixView rows) override;
  void write_limits(Range queries, std::span<const double> thresholds,
                    std::byte* limits) const override;
  void find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
            const PairList& found) const override;
  std::string name() const override { return "keys of every row, on the device"; }

 private:
  gpu::Device& device_;
  DeviceSearch search_;
  KeyStep step_;
  gpu::ArrayTile queries_{};
  gpu::ArrayTile rows_{};
};

}  // namespace nearfield
