// What a search by multi-index hashing asks of runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "index/mih/mih_division.hpp"
#include "index/mih/mih_lookup.hpp"
#include "index/questions.hpp"
#include "index/search_goal.hpp"

namespace nearfield {

// Where nothing is known of how far the nearest are, of what a scan takes, what a query may spend
// on lookups before it is scanned after all: if all of that was in vain, the search takes so much
// longer.
inline constexpr double kSpentInVain = 0.25;

// The k nearest of all runs.
class MihNearest : public NearestQuestion {
 public:
  MihNearest(const Family& flat, std::int64_t queries, std::int64_t k, std::int64_t cols)
      : NearestQuestion(flat, Metric::hamming, queries, k), cols_(static_cast<double>(cols)) {}

  bool look_up(std::int64_t query, MatrixView queries, const AskedRun& run, const Monitor& monitor,
               MihLookup& lookup) {
    TopK<Neighbor>& best = best_of(query);
    best.settle();
    NearestGoal goal(k(), best.threshold(), run.ids, cols_);
    if (!lookup.find(queries.row(query), run.rows, run.budget * kSpentInVain, monitor, goal)) {
      return false;
    }
    for (const Neighbor& neighbor : goal.found()) best.offer(neighbor);
    return true;
  }

 private:
  double cols_;
};

// All rows of all runs within a radius.
class MihWithin : public WithinQuestion {
 public:
  MihWithin(const Family& flat, std::int64_t queries, double radius, std::int64_t most_bits,
            std::optional<std::int64_t> memory_limit)
      : WithinQuestion(flat, Metric::hamming, queries, radius, memory_limit),
        most_bits_(static_cast<double>(most_bits)) {}

  bool look_up(std::int64_t query, MatrixView queries, const AskedRun& run, const Monitor& monitor,
               MihLookup& lookup) {
    std::vector<Neighbor>& found = found_of(query);
    WithinGoal goal(most_bits_, run.ids, budget(), found);
    const std::size_t before = found.size();
    if (lookup.find(queries.row(query), run.rows, run.budget, monitor, goal)) return true;
    budget().refund(static_cast<std::int64_t>(found.size() - before));  // a scan finds them again
    found.resize(before);
    return false;
  }

 private:
  double most_bits_;
};

}  // namespace nearfield
