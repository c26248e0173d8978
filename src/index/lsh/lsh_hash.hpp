// From the projections of a vector to the key of a table, and to the keys near it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/lsh/lsh_parameters.hpp"

namespace nearfield {

// Another key that a near vector may have: one projection, or a group of them, lies beyond a border
// of its cell.
struct ProbeStep {
  double cost;           // how far the border is, squared
  std::uint64_t change;  // of the key, by exclusive or
  int group;             // two steps of one group exclude each other

  friend bool operator<(const ProbeStep& a, const ProbeStep& b) {
    return a.cost < b.cost || (a.cost == b.cost && a.change < b.change);
  }
};

// One way to hash. Projections may be any numbers: those that are not finite count as 0.
class LshHash {
 public:
  virtual ~LshHash() = default;

  // levels: those of each projection, one after the other.
  virtual std::uint64_t key(std::span<const double> projections,
                            std::span<const double> levels) const = 0;

  // Appends the steps from that key, in no order.
  virtual void add_steps(std::span<const double> projections, std::span<const double> levels,
                         std::vector<ProbeStep>& steps) const = 0;
};

const LshHash& lsh_hash(const LshScheme& scheme);

}  // namespace nearfield
