#pragma once

#include <optional>

#include "filter/filter_maker.hpp"
#include "filter/rounded/bf16_filter.hpp"

namespace nearfield {

class Bf16FilterMaker final : public FilterMaker {
 public:
  // Of a rounding that is fitted.
  Bf16FilterMaker(BaseRounding rounding, Bf16TileKernel kernel)
      : rounding_(std::move(rounding)), kernel_(kernel) {}

  void take_queries(const Piece& queries, const Piece& rows, int threads,
                    Monitor& monitor) override;
  TakenRows take_rows(const Piece& rows, int threads, Monitor& monitor) override;
  std::string name() const override { return Bf16Filter::kName; }

 private:
  BaseRounding rounding_;
  Bf16TileKernel kernel_;
  std::optional<Bf16Queries> queries_;
  std::optional<Bf16Rows> rows_;
  std::optional<Bf16Filter> filter_;
};

}  // namespace nearfield
