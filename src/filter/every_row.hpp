#pragma once

#include "filter/filter_maker.hpp"

namespace nearfield {

// Drops nothing: an exhaustive search.
class EveryRow final : public Filter {
 public:
  void survivors(const Block& block, std::span<const double> /*thresholds*/,
                 Candidates& out) const override {
    out.start_dense(block);
  }
  bool certified() const override { return true; }
  std::string name() const override { return "every row"; }
};

class EveryRowMaker final : public FilterMaker {
 public:
  void take_queries(const Piece& /*queries*/, const Piece& /*rows*/, int /*threads*/,
                    Monitor& /*monitor*/) override {}
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    return {filter_, rows.view.rows()};
  }
  std::string name() const override { return filter_.name(); }

 private:
  EveryRow filter_;
};

}  // namespace nearfield
