#pragma once

#include "filter/filter.hpp"
#include "filter/rounded/rounded_queries.hpp"
#include "filter/rounded/rounded_rows.hpp"
#include "filter/rounded/tile_room.hpp"

namespace nearfield {

// Products of bytes, by the tiles of an ISA. What it drops is proven to be too far
// (docs/exactness.md); of bytes that are taken as they are it knows the keys.
class RoundedFilter final : public Filter {
 public:
  // Looks at all of them. Its blocks have at most kMostTileRows rows and begin at a multiple of
  // kGroupRows behind the first row.
  RoundedFilter(const Rounding& rounding, const TileKernel& kernel, const RoundedQueries& queries,
                const RoundedRows& rows)
      : rounding_(rounding), kernel_(kernel), queries_(queries), rows_(rows) {}

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override;
  bool certified() const override { return true; }
  std::string name() const override { return name_of(kernel_); }
  static std::string name_of(const TileKernel& kernel);

 private:
  struct Bound;

  // Of some queries of the block: which sums are large enough.
  void run(const Block& block, Range queries, std::span<const double> thresholds,
           TileRoom& room) const;
  void add(const Block& block, std::int64_t query, double threshold, const TileRoom& room,
           std::int64_t tile_query, Candidates& out) const;

  Bound bound(const Rounded& query, double threshold) const;
  Bound distance_bound(const Rounded& query, double threshold) const;
  Bound product_bound(const Rounded& query, double threshold) const;
  double key(const Rounded& query, std::int32_t sum, std::int64_t row) const;

  const Rounding& rounding_;
  const TileKernel& kernel_;
  const RoundedQueries& queries_;
  const RoundedRows& rows_;
};

}  // namespace nearfield
