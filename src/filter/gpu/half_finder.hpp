// Finds close pairs by products of halves with a proven bound, and makes the keys of those alone:
// docs/exactness.md#how-halves-decide-on-a-device.
#pragma once

#include <functional>
#include <vector>

#include "distance/gpu/close_step.hpp"
#include "distance/gpu/key_step.hpp"
#include "distance/gpu/round_step.hpp"
#include "filter/device_filter.hpp"
#include "filter/gpu/pair_finder.hpp"

namespace nearfield {

class HalfFinder final : public ProductFinder {
 public:
  // Whether it knows the metric and the types.
  static bool applies(const DeviceSearch& search);

  HalfFinder(gpu::Device& device, const DeviceSearch& search);

  std::int64_t query_bytes() const override;
  std::int64_t row_bytes() const override;
  std::int64_t padding_bytes() const override { return rounded_padding(search_.cols); }
  std::int64_t limit_bytes() const override { return sizeof(Limit); }
  std::int64_t query_unit() const override { return kProductTile; }
  std::int64_t least_rows() const override { return kProductTile; }
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
  double key_of_bound(double bound) const override;
  void use_queries(gpu::Queue& queue, const gpu::ArrayTile& queries, std::int64_t count) override;
  void expect_gathered(gpu::Queue& queue, const std::function<float()>& largest,
                       std::int64_t most) override;
  void take_gathered(gpu::Queue& queue, const gpu::ArrayTile& rows, std::int64_t count) override;
  void find_met(gpu::Queue& queue, Range queries, const gpu::Buffer& limits, const MetRows& met,
                const PairList& found) const override;
  bool finds_keys() const override { return false; }
  std::string name() const override { return "f16 products, on the device"; }

 private:
  // What close_products.cu compares with.
  struct Limit {
    float reach;
    float slope;
  };
  // What round.cu makes of a query.
  struct Plain {
    float squares;
    float loss;
  };

  // With the scale that they and rows need.
  void round_queries(gpu::Queue& queue, const std::function<float()>& largest_of_rows);
  void choose_scale(gpu::Queue& queue, float largest_of_rows);
  RoundedForm row_form() const {
    return products_ ? RoundedForm::row_of_products : RoundedForm::row_of_distances;
  }
  Limit limit_of_distance(const Plain& query, double threshold) const;
  Limit limit_of_product(const Plain& query, double threshold) const;
  double slope_of_products(const Plain& query) const;
  CloseVectors queries_of(const Block& block, const gpu::Buffer& limits) const;
  CloseVectors rows_of(const Block& block) const;
  float factor() const { return products_ ? -1.0F : -2.0F; }

  gpu::Device& device_;
  DeviceSearch search_;
  bool products_;  // of which keys are made, not distances
  KeyStep keys_;
  Rounding16 rounding_;
  gpu::ArrayTile own_queries_{};
  const gpu::ArrayTile* query_source_ = nullptr;  // these, or whose it was told to use
  gpu::ArrayTile row_source_{};
  gpu::ArrayTile coming_{};
  std::int64_t query_count_ = 0;
  std::int64_t row_count_ = 0;
  std::int64_t coming_count_ = 0;
  RoundedVectors queries_;
  RoundedVectors rows_;
  std::vector<Plain> plain_;  // of the queries
};

}  // namespace nearfield
