// Searches that are timed in several ways, in turn.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>

#include <nearfield/knn.hpp>

#include "search/plan.hpp"
#include "tests/force_tiles.hpp"

namespace nearfield {

struct Input {
  std::string name;
  Matrix queries;
  Matrix base;
};

// By tiles as a search chooses them, by those of one kind, and without.
enum class Way { chosen, int8, bf16, plain };

struct Timed {
  double seconds = std::numeric_limits<double>::infinity();  // the least of all runs
  double verified = 0;                                       // of all pairs
  std::string filter;                                        // its first word
};

// A search for the 10 nearest on one core.
class TimedSearch {
 public:
  TimedSearch(const Input& input, Metric metric) : input_(input), metric_(metric) {}

  // The ways in turn, and the least of several: what else the machine does passes.
  void run(std::initializer_list<Way> ways, int runs) {
    for (int i = 0; i < runs; ++i) {
      for (const Way way : ways) run(way);
    }
  }

  const Timed& by(Way way) const { return timed_.at(way); }
  double seconds(Way way) const { return by(way).seconds; }

 private:
  void run(Way way) {
    default_tuning() = Tuning();
    if (way == Way::int8) default_tuning().tiles.least_bf16_values = kNever;
    if (way == Way::bf16) force_tiles_of(TileValues::bf16);
    if (way == Way::plain) default_tuning().tiles.least_queries = kNever;
    const KnnOptions options{.k = 10, .metric = metric_};
    const Stats stats = knn(input_.queries, input_.base, options, {.threads = 1}).stats;
    default_tuning() = Tuning();
    Timed& timed = timed_[way];
    timed.seconds = std::min(timed.seconds, stats.seconds);
    timed.verified = static_cast<double>(stats.pairs_verified) /
                     static_cast<double>(input_.queries.rows() * input_.base.rows());
    timed.filter = stats.plan.filter.substr(0, stats.plan.filter.find(' '));
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  const Input& input_;
  Metric metric_;
  std::map<Way, Timed> timed_;
};

// What a search may take beside one that has no choice but int8.
inline constexpr double kMostOfInt8 = 1.15;

}  // namespace nearfield
