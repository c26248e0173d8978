// Finds close pairs of bytes by exact products, which are their keys.
#pragma once

#include <vector>

#include "distance/gpu/product_step.hpp"
#include "filter/device_filter.hpp"
#include "filter/gpu/pair_finder.hpp"
#include "filter/gpu/row_parts_of_block.hpp"

namespace nearfield {

class ByteFinder final : public ProductFinder {
 public:
  // Whether it knows the metric and the types, and sums of so many columns fit.
  static bool applies(const DeviceSearch& search);
  // And no more than two rows of a block can be found.
  static bool applies_to_two(const DeviceSearch& search);

  // two: of a block only the first two of each query, of which no more can be found.
  ByteFinder(gpu::Device& device, const DeviceSearch& search, bool two);

  const BoundedFinder* bounded() const override { return two_ ? nullptr : this; }
  std::int64_t query_bytes() const override;
  std::int64_t row_bytes() const override;
  std::int64_t padding_bytes() const override { return step_.padding_bytes(); }
  std::int64_t limit_bytes() const override { return sizeof(Limit); }
  std::int64_t query_unit() const override { return kProductTile; }
  std::int64_t least_rows() const override { return two_ ? kLeastPartRows : kProductTile; }
  std::int64_t most_found() const override { return two_ ? 2 : 0; }
  void take_queries(gpu::Queue& queue, MatrixView queries) override;
  void bring_rows(gpu::Queue& queue, MatrixView rows) override;
  void use_rows(gpu::Queue& queue) override;
  void drop_rows() override;
  void write_limits(Range queries, std::span<const double> thresholds,
                    std::byte* limits) const override;
  void find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
            const PairList& found) const override;
  void write_terms(Range queries, std::byte* terms) const override;
  void bounds(gpu::Queue& queue, const Block& block, const gpu::Buffer& terms,
              const gpu::Buffer& found) const override;
  double key_of_bound(double bound) const override { return bound; }
  void use_queries(gpu::Queue& queue, const gpu::ArrayTile& queries, std::int64_t count) override;
  void expect_gathered(gpu::Queue& queue, const std::function<float()>& largest,
                       std::int64_t most) override;
  void take_gathered(gpu::Queue& queue, const gpu::ArrayTile& rows, std::int64_t count) override;
  void find_met(gpu::Queue& queue, Range queries, const gpu::Buffer& limits, const MetRows& met,
                const PairList& found) const override;
  bool finds_keys() const override { return true; }
  std::string name() const override;

 private:
  // What close_products.cu compares with.
  struct Limit {
    std::int32_t add;
    std::int32_t most;
  };

  void read_adds(gpu::Queue& queue);
  CloseVectors queries_of(const Block& block, const gpu::Buffer& limits) const;
  CloseVectors rows_of(const Block& block) const;

  gpu::Device& device_;
  DeviceSearch search_;
  bool two_;
  ProductStep step_;
  ConvertedVectors queries_;
  ConvertedVectors rows_;
  ConvertedVectors coming_;
  std::vector<std::int32_t> adds_;  // of the queries
};

}  // namespace nearfield
