#pragma once

#include <memory>

#include "filter/filter_maker.hpp"
#include "filter/rounded/bf16_gain.hpp"
#include "filter/rounded/bf16_tile_kernel.hpp"
#include "filter/rounded/rounding.hpp"
#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {

// Tiles of bytes or of bf16, by what is predicted of the first queries and rows.
class EitherFilterMaker final : public FilterMaker {
 public:
  // Tiles are of bf16 if they are expected to gain so much.
  EitherFilterMaker(BaseRounding rounding, const TileKernel& bytes, Bf16TileKernel bf16,
                    Sought sought, double least_gain)
      : rounding_(std::move(rounding)),
        bytes_(bytes),
        bf16_(bf16),
        sought_(sought),
        least_gain_(least_gain) {}

  void take_queries(const Piece& queries, const Piece& rows, int threads,
                    Monitor& monitor) override;
  TakenRows take_rows(const Piece& rows, int threads, Monitor& monitor) override;
  std::string name() const override;

 private:
  BaseRounding rounding_;
  const TileKernel& bytes_;
  Bf16TileKernel bf16_;
  Sought sought_;
  double least_gain_;
  std::unique_ptr<FilterMaker> chosen_;
};

}  // namespace nearfield
