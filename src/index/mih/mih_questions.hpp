// What a search by multi-index hashing asks of runs, and what it has found: the k nearest, or all
// within a radius. `take` adds what a scan found, `free` gives its memory back, `write` is the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/results.hpp>

#include "index/family.hpp"
#include "index/mih/mih_division.hpp"
#include "index/mih/mih_lookup.hpp"
#include "scan/found_budget.hpp"
#include "select/top_k.hpp"

namespace nearfield {

// Where nothing is known of how far the nearest are, of what a scan takes, what a query may spend
// on lookups before it is scanned after all: if all of that was in vain, the search takes so much
// longer.
inline constexpr double kSpentInVain = 0.25;

// The k nearest of all runs.
class MihNearest {
 public:
  using Result = Neighbors;

  MihNearest(const Family& flat, std::int64_t queries, std::int64_t k, std::int64_t cols)
      : flat_(flat), k_(k), cols_(static_cast<double>(cols)) {
    best_.assign(static_cast<std::size_t>(queries), TopK<Neighbor>(k));
  }

  // With one more for each thread, of the run it looks into.
  static std::int64_t bytes(std::int64_t queries, std::int64_t k, int threads) {
    constexpr std::int64_t kItem = sizeof(Neighbor);
    const std::int64_t best =
        TopK<Neighbor>::most_held(k) * kItem + static_cast<std::int64_t>(sizeof(TopK<Neighbor>));
    return (queries + std::min<std::int64_t>(queries, threads)) * best;
  }

  const char* selector() const { return TopK<Neighbor>::name(k_); }

  Neighbors scan(MatrixView queries, std::span<const AskedPart> parts,
                 const Context& context) const {
    return flat_.search(queries, parts, k_, context);
  }

  bool look_up(std::int64_t query, MatrixView queries, const AskedRun& run, const Monitor& monitor,
               MihLookup& lookup) {
    TopK<Neighbor>& best = best_of(query);
    best.settle();
    Goal goal(k_, best.threshold(), run.ids, cols_);
    if (!lookup.find(queries.row(query), run.rows, run.budget * kSpentInVain, monitor, goal)) {
      return false;
    }
    for (const Neighbor& neighbor : goal.found()) best.offer(neighbor);
    return true;
  }

  void take(const Neighbors& found, std::int64_t row, std::int64_t query) {
    const auto count = static_cast<std::size_t>(found.counts[static_cast<std::size_t>(row)]);
    for (std::size_t i = 0; i < count; ++i) {
      best_of(query).offer({found.keys_of(row)[i], found.ids_of(row)[i]});
    }
  }

  static void free(Neighbors& result) {
    result.ids = {};
    result.keys = {};
    result.distances = {};
    result.counts = {};
  }

  void write(Neighbors& result) {
    const auto slots = static_cast<std::size_t>(result.queries * k_);
    result.ids.assign(slots, kNoId);
    result.keys.assign(slots, std::numeric_limits<double>::infinity());
    result.distances.assign(slots, std::numeric_limits<float>::infinity());
    result.counts.resize(static_cast<std::size_t>(result.queries));
    for (std::int64_t query = 0; query < result.queries; ++query) {
      auto slot = static_cast<std::size_t>(query * k_);
      const std::span<const Neighbor> best = best_of(query).finish();
      result.counts[static_cast<std::size_t>(query)] = std::ssize(best);
      for (const Neighbor& neighbor : best) {
        result.ids[slot] = neighbor.id;
        result.keys[slot] = neighbor.key;
        result.distances[slot++] = static_cast<float>(neighbor.key);
      }
    }
  }

 private:
  class Goal final : public MihGoal {
   public:
    Goal(std::int64_t k, double most, std::span<const std::int64_t> ids, double cols)
        : best_(k, most), ids_(ids), cols_(cols) {}

    double limit() override {
      best_.settle();
      return std::min(best_.threshold(), cols_);
    }
    void take(std::int64_t row, double key) override {
      best_.offer({key, ids_[static_cast<std::size_t>(row)]});
    }
    std::span<const Neighbor> found() { return best_.unsorted(); }

   private:
    TopK<Neighbor> best_;
    std::span<const std::int64_t> ids_;
    double cols_;
  };

  TopK<Neighbor>& best_of(std::int64_t query) { return best_[static_cast<std::size_t>(query)]; }

  const Family& flat_;
  std::int64_t k_;
  double cols_;
  std::vector<TopK<Neighbor>> best_;
};

// All rows of all runs within a radius.
class MihWithin {
 public:
  using Result = Ranges;

  // A row that is found: here, and in the result, both grown by doubling.
  static constexpr std::int64_t kBytesPerFound =
      2 * (sizeof(Neighbor) + sizeof(std::int64_t) + sizeof(double) + sizeof(float));

  MihWithin(const Family& flat, std::int64_t queries, double radius, std::int64_t most_bits,
            std::optional<std::int64_t> memory_limit)
      : flat_(flat),
        radius_(radius),
        most_bits_(static_cast<double>(most_bits)),
        budget_(memory_limit ? std::optional(*memory_limit / kBytesPerFound) : std::nullopt,
                "search fewer queries at a time or a smaller radius"),
        found_(static_cast<std::size_t>(queries)) {}

  // Whatever is found: a list here, an offset in the result.
  static std::int64_t bytes(std::int64_t queries) {
    return queries *
           static_cast<std::int64_t>(sizeof(std::vector<Neighbor>) + 2 * sizeof(std::int64_t));
  }

  const char* selector() const { return "all within the radius"; }

  Ranges scan(MatrixView queries, std::span<const AskedPart> parts, const Context& context) const {
    return flat_.within(queries, parts, radius_, context);
  }

  bool look_up(std::int64_t query, MatrixView queries, const AskedRun& run, const Monitor& monitor,
               MihLookup& lookup) {
    Goal goal(most_bits_, run.ids, budget_, found_of(query));
    std::vector<Neighbor>& found = found_of(query);
    const std::size_t before = found.size();
    if (lookup.find(queries.row(query), run.rows, run.budget, monitor, goal)) return true;
    budget_.refund(static_cast<std::int64_t>(found.size() - before));  // a scan finds them again
    found.resize(before);
    return false;
  }

  void take(const Ranges& found, std::int64_t row, std::int64_t query) {
    const auto begin = static_cast<std::size_t>(found.offsets[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(found.offsets[static_cast<std::size_t>(row) + 1]);
    budget_.spend(static_cast<std::int64_t>(end - begin));
    for (std::size_t i = begin; i < end; ++i) {
      found_of(query).push_back({found.keys[i], found.ids[i]});
    }
  }

  static void free(Ranges& result) {
    result.offsets = {};
    result.ids = {};
    result.keys = {};
    result.distances = {};
  }

  void write(Ranges& result) {
    result.offsets.assign(1, 0);
    for (std::vector<Neighbor>& found : found_) {
      std::ranges::sort(found, std::less<>());
      for (const Neighbor& neighbor : found) {
        result.ids.push_back(neighbor.id);
        result.keys.push_back(neighbor.key);
        result.distances.push_back(static_cast<float>(neighbor.key));
      }
      result.offsets.push_back(std::ssize(result.ids));
    }
  }

 private:
  class Goal final : public MihGoal {
   public:
    Goal(double most, std::span<const std::int64_t> ids, FoundBudget& budget,
         std::vector<Neighbor>& found)
        : most_(most), ids_(ids), budget_(budget), found_(found) {}

    double limit() override { return most_; }
    void take(std::int64_t row, double key) override {
      budget_.spend(1);
      found_.push_back({key, ids_[static_cast<std::size_t>(row)]});
    }

   private:
    double most_;
    std::span<const std::int64_t> ids_;
    FoundBudget& budget_;
    std::vector<Neighbor>& found_;
  };

  std::vector<Neighbor>& found_of(std::int64_t query) {
    return found_[static_cast<std::size_t>(query)];
  }

  const Family& flat_;
  double radius_;
  double most_bits_;
  FoundBudget budget_;
  std::vector<std::vector<Neighbor>> found_;
};

}  // namespace nearfield
