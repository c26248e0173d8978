#pragma once

#include <optional>

#include "filter/filter_maker.hpp"
#include "filter/rounded/rounded_filter.hpp"

namespace nearfield {

class RoundedFilterMaker final : public FilterMaker {
 public:
  RoundedFilterMaker(BaseRounding rounding, const TileKernel& kernel)
      : rounding_(std::move(rounding)), kernel_(kernel) {}

  // Of a whole base that is rounded already, and outlives it.
  RoundedFilterMaker(BaseRounding rounding, const TileKernel& kernel, const RoundedRows& rows)
      : rounding_(std::move(rounding)), kernel_(kernel), kept_(&rows) {}

  // Fits the rounding to the first rows of the first batch, if it is not fitted.
  void take_queries(const Piece& queries, const Piece& rows, int threads,
                    Monitor& monitor) override;
  // Not where bytes are kept as they are: sums of their products are keys.
  bool reads_rows() const override { return kept_ == nullptr || !rounding_.lossless; }
  TakenRows take_rows(const Piece& rows, int threads, Monitor& monitor) override;
  std::string name() const override;

 private:
  BaseRounding rounding_;
  const TileKernel& kernel_;
  const RoundedRows* kept_ = nullptr;
  std::optional<RoundedQueries> queries_;
  std::optional<RoundedRows> rows_;
  std::optional<RoundedFilter> filter_;
};

}  // namespace nearfield
