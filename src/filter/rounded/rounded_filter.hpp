#pragma once

#include "filter/filter.hpp"
#include "filter/rounded/rounded_queries.hpp"
#include "filter/rounded/rounded_rows.hpp"
#include "filter/rounded/tile_room.hpp"

namespace nearfield {

// Products of bytes, by the tiles of an ISA. What it drops is proven to be too far
// (docs/exactness.md); of bytes that are taken as they are it knows the keys.
class RoundedFilter final : public TwoSidedFilter, public NearestFilter {
 public:
  // Looks at all of them. Its blocks have at most kMostTileRows rows and begin at a multiple of
  // kGroupRows behind the first row.
  RoundedFilter(const BaseRounding& rounding, const TileKernel& kernel,
                const RoundedQueries& queries, const RoundedRows& rows)
      : rounding_(rounding), kernel_(kernel), queries_(queries), rows_(rows) {}

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    survivors_of_both(block, thresholds, {}, out);
  }
  void survivors_of_both(const Block& block, std::span<const double> thresholds,
                         std::span<const double> row_thresholds, Candidates& out) const override;
  // Not of products that lose something: what a row loses then depends on the query.
  const TwoSidedFilter* two_sided() const override {
    return rounding_.lossless || rounding_.form == Form::distance ? this : nullptr;
  }
  // Of bytes that are taken as they are, and so few of them that keys are small.
  const NearestFilter* nearest() const override;
  std::int64_t take_nearest(const Block& block, int kept, NearestPlaces queries,
                            NearestPlaces rows) const override;
  bool certified() const override { return true; }
  std::string name() const override { return name_of(kernel_); }
  static std::string name_of(const TileKernel& kernel);

 private:
  struct Bound;

  // What survivors_of_both is asked.
  struct Question {
    const Block& block;
    std::span<const double> thresholds;
    std::span<const double> row_thresholds;  // empty: rows do not ask

    bool near(std::int64_t query, std::int64_t row, double key) const;
  };

  // Of some queries of the block: which sums are large enough.
  void run(const Question& question, Range queries, TileRoom& room) const;
  void add(const Question& question, std::int64_t query, const TileRoom& room,
           std::int64_t tile_query, Candidates& out) const;

  // What the rows ask, for TileJob: of all queries of the block, and of a tile of them.
  void ask_columns(const Question& question, TileRoom& room) const;
  void level_columns(Range queries, TileRoom& room) const;
  void find_row_terms(Range rows, NearestRoom& room) const;
  std::int32_t product_level(const Rounded& query) const;
  double largest_loss(Range queries) const;
  double most_steps(double threshold) const;

  Bound bound(const Rounded& query, double threshold) const;
  Bound distance_bound(const Rounded& query, double threshold) const;
  Bound product_bound(const Rounded& query, double threshold) const;
  double key(const Rounded& query, std::int32_t sum, std::int64_t row) const;

  const BaseRounding& rounding_;
  const TileKernel& kernel_;
  const RoundedQueries& queries_;
  const RoundedRows& rows_;
};

}  // namespace nearfield
