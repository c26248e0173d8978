#pragma once

#include "filter/filter.hpp"

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

}  // namespace nearfield
