// Which other keys a query looks up: the likeliest of those near its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/lsh/lsh_hash.hpp"

namespace nearfield {

// Multi-probe (Lv, Josephson, Wang, Charikar, Li: Multi-probe LSH, VLDB 2007): sets of steps in the
// order of what they cost together. One a thread.
class LshProbes {
 public:
  // Fills `keys`: the query's own key first. Sorts the steps, and looks at the first 64. Where
  // there are fewer sets of them than keys, the others are the query's own again.
  void find(std::uint64_t own, std::vector<ProbeStep>& steps, std::span<std::uint64_t> keys);

 private:
  // Of the steps, by their numbers; `last` is the largest of these.
  struct StepSet {
    double cost;
    std::uint64_t steps;
    int last;

    friend bool operator>(const StepSet& a, const StepSet& b) {
      return a.cost > b.cost || (a.cost == b.cost && a.steps > b.steps);
    }
  };

  void push(const StepSet& set);

  std::vector<StepSet> heap_;
};

}  // namespace nearfield
