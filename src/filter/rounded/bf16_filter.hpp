#pragma once

#include <string>

#include "filter/filter.hpp"
#include "filter/rounded/bf16_vectors.hpp"
#include "filter/rounded/tile_room.hpp"

namespace nearfield {

// Products of bf16, by tiles. What it drops is proven to be too far (docs/exactness.md).
class Bf16Filter final : public TwoSidedFilter {
 public:
  // Looks at all of them. Its blocks have at most kMostTileRows rows and begin at a multiple of
  // kGroupRows behind the first row.
  Bf16Filter(const BaseRounding& rounding, Bf16TileKernel kernel, const Bf16Queries& queries,
             const Bf16Rows& rows)
      : rounding_(rounding), kernel_(kernel), queries_(queries), rows_(rows) {}

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    survivors_of_both(block, thresholds, {}, out);
  }
  void survivors_of_both(const Block& block, std::span<const double> thresholds,
                         std::span<const double> row_thresholds, Candidates& out) const override;
  // Not of products: what a row loses then depends on the query.
  const TwoSidedFilter* two_sided() const override {
    return rounding_.form == Form::distance ? this : nullptr;
  }
  bool certified() const override { return true; }
  std::string name() const override { return kName; }
  static constexpr const char* kName = "bf16 tiles, AMX";

 private:
  struct Bound;

  // What the rows of the block ask, and some of its queries.
  void ask_columns(Range rows, std::span<const double> row_thresholds, Bf16TileRoom& room) const;
  void ask(Range queries, std::span<const double> thresholds, Bf16TileRoom& room) const;

  // Which sums of these queries are large enough.
  void run(const Block& block, Range queries, bool both, Bf16TileRoom& room) const;

  Bound bound(const Bf16Vector& query, double threshold) const;
  Bound distance_bound(const Bf16Vector& query, double threshold) const;
  Bound product_bound(const Bf16Vector& query, double threshold) const;

  const BaseRounding& rounding_;
  Bf16TileKernel kernel_;
  const Bf16Queries& queries_;
  const Bf16Rows& rows_;
};

}  // namespace nearfield
