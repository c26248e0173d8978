// Finds close pairs by the keys of all: any metric, any type.
#pragma once

#include <algorithm>

#include "distance/gpu/key_step.hpp"
#include "filter/device_filter.hpp"
#include "filter/gpu/pair_finder.hpp"
#include "filter/gpu/row_parts_of_block.hpp"

namespace nearfield {

class KeyFinder final : public BoundedFinder {
 public:
  // Whether the kernel that keeps only the first of a block has room for as many.
  static bool fuses(const DeviceSearch& search);

  // fused: by that kernel.
  KeyFinder(gpu::Device& device, const DeviceSearch& search, bool fused);

  const BoundedFinder* bounded() const override { return fused_ ? nullptr : this; }
  std::int64_t query_bytes() const override;
  std::int64_t row_bytes() const override;
  std::int64_t limit_bytes() const override { return sizeof(double); }
  std::int64_t most_found() const override { return fused_ ? search_.first_of_any : 0; }
  std::int64_t least_rows() const override { return fused_ ? least_part_rows() : kKeySide; }
  void take_queries(gpu::Queue& queue, MatrixView queries) override;
  void bring_rows(gpu::Queue& queue, MatrixView rows) override;
  void use_rows(gpu::Queue& queue) override;
  void drop_rows() override;
  void write_limits(Range queries, std::span<const double> thresholds,
                    std::byte* limits) const override;
  void find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
            const PairList& found) const override;
  void write_terms(Range /*queries*/, std::byte* /*terms*/) const override {}
  void bounds(gpu::Queue& queue, const Block& block, const gpu::Buffer& terms,
              const gpu::Buffer& found) const override;
  double key_of_bound(double bound) const override { return bound; }
  std::string name() const override;

 private:
  // Of wide rows fewer, or cancelling would have to wait for them.
  std::int64_t least_part_rows() const {
    constexpr std::int64_t kNarrow = 32;
    return std::max(kLeastPartRows * kNarrow / std::max(search_.cols, kNarrow), kKeySide);
  }

  KeyVectors queries_of(const Block& block) const;
  KeyVectors rows_of(const Block& block) const;

  gpu::Device& device_;
  DeviceSearch search_;
  bool fused_;
  KeyStep step_;
  gpu::ArrayTile queries_{};
  gpu::ArrayTile rows_{};
  gpu::ArrayTile coming_{};
};

}  // namespace nearfield
