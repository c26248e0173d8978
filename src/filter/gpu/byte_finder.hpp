// Finds close pairs of bytes by exact products, which are their keys.
#pragma once

#include <vector>

#include "distance/gpu/product_step.hpp"
#include "filter/device_filter.hpp"
#include "filter/gpu/pair_finder.hpp"

namespace nearfield {

class ByteFinder final : public PairFinder {
 public:
  // Whether it knows the metric and the types, and sums of so many columns fit.
  static bool applies(const DeviceSearch& search);

  ByteFinder(gpu::Device& device, const DeviceSearch& search);

  std::int64_t query_bytes() const override;
  std::int64_t row_bytes() const override;
  std::int64_t padding_bytes() const override { return step_.padding_bytes(); }
  std::int64_t limit_bytes() const override { return sizeof(Limit); }
  void take_queries(gpu::Queue& queue, MatrixView queries) override;
  void take_rows(gpu::Queue& queue, MatrixView rows) override;
  void write_limits(Range queries, std::span<const double> thresholds,
                    std::byte* limits) const override;
  void find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
            const PairList& found) const override;
  std::string name() const override { return "int8 products, on the device"; }

 private:
  // What close_products.cu compares with.
  struct Limit {
    std::int32_t add;
    std::int32_t most;
  };

  gpu::Device& device_;
  DeviceSearch search_;
  ProductStep step_;
  ConvertedVectors queries_;
  ConvertedVectors rows_;
  std::vector<std::int32_t> adds_;  // of the queries
};

}  // namespace nearfield
