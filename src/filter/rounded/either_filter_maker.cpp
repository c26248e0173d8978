#include "filter/rounded/either_filter_maker.hpp"

#include <fmt/format.h>

#include "core/float_environment.hpp"
#include "filter/rounded/bf16_filter_maker.hpp"
#include "filter/rounded/rounded_filter_maker.hpp"

namespace nearfield {

void EitherFilterMaker::take_queries(const Piece& queries, const Piece& rows, int threads,
                                     Monitor& monitor) {
  if (chosen_ == nullptr) {
    const DefaultFloats floats;
    fit_rounding(rounding_, rows.view, monitor);
    if (bf16_gain(rounding_, queries, rows, sought_, monitor) >= least_gain_) {
      chosen_ = std::make_unique<Bf16FilterMaker>(std::move(rounding_), bf16_);
    } else {
      chosen_ = std::make_unique<RoundedFilterMaker>(std::move(rounding_), bytes_);
    }
    monitor.check();
  }
  chosen_->take_queries(queries, rows, threads, monitor);
}

TakenRows EitherFilterMaker::take_rows(const Piece& rows, int threads, Monitor& monitor) {
  return chosen_->take_rows(rows, threads, monitor);
}

std::string EitherFilterMaker::name() const {
  return chosen_ != nullptr ? chosen_->name() : fmt::format("int8 or bf16 tiles, {}", bytes_.name);
}

}  // namespace nearfield
