// What a search by hashing asks for, and what it has found: the k nearest, or all within a radius.
// `scan` asks `flat`, `take` adds what a scan found, `free` gives its memory back, `write` is the
// end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>

#include "index/family.hpp"
#include "scan/found_budget.hpp"
#include "select/top_k.hpp"

namespace nearfield {

// Not before the arguments are checked, which who scans does.
inline bool as_the_rows(MatrixView queries, std::span<const AskedPart> parts) {
  return queries.dtype() == DType::bits && queries.cols() == parts.front().view.rows().cols();
}

// The k nearest of each query.
class NearestQuestion {
 public:
  using Result = Neighbors;

  NearestQuestion(const Family& flat, MetricSpec metric, std::int64_t queries, std::int64_t k)
      : flat_(flat), metric_(metric), k_(k) {
    best_.assign(static_cast<std::size_t>(queries), TopK<Neighbor>(k));
  }

  // With one more for each thread, of what it finds of one query before that is taken.
  static std::int64_t bytes(std::int64_t queries, std::int64_t k, int threads) {
    constexpr std::int64_t kItem = sizeof(Neighbor);
    const std::int64_t best =
        TopK<Neighbor>::most_held(k) * kItem + static_cast<std::int64_t>(sizeof(TopK<Neighbor>));
    return (queries + std::min<std::int64_t>(queries, threads)) * best;
  }

  std::int64_t k() const { return k_; }
  const char* selector() const { return TopK<Neighbor>::name(k_); }
  TopK<Neighbor>& best_of(std::int64_t query) { return best_[static_cast<std::size_t>(query)]; }

  Neighbors scan(MatrixView queries, std::span<const AskedPart> parts,
                 const Context& context) const {
    return flat_.search(queries, parts, k_, context);
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
    const auto farthest = std::numeric_limits<float>::infinity();
    const bool similar = info(metric_).reported == Reported::similarity;
    result.ids.assign(slots, kNoId);
    result.keys.assign(slots, std::numeric_limits<double>::infinity());
    result.distances.assign(slots, similar ? -farthest : farthest);
    result.counts.resize(static_cast<std::size_t>(result.queries));
    for (std::int64_t query = 0; query < result.queries; ++query) {
      auto slot = static_cast<std::size_t>(query * k_);
      const std::span<const Neighbor> best = best_of(query).finish();
      result.counts[static_cast<std::size_t>(query)] = std::ssize(best);
      for (const Neighbor& neighbor : best) {
        result.ids[slot] = neighbor.id;
        result.keys[slot] = neighbor.key;
        result.distances[slot++] = static_cast<float>(reported_value(metric_, neighbor.key));
      }
    }
  }

 private:
  const Family& flat_;
  MetricSpec metric_;
  std::int64_t k_;
  std::vector<TopK<Neighbor>> best_;
};

// All rows within a radius of each query.
class WithinQuestion {
 public:
  using Result = Ranges;

  // A row that is found: here, and in the result, both grown by doubling.
  static constexpr std::int64_t kBytesPerFound =
      2 * (sizeof(Neighbor) + sizeof(std::int64_t) + sizeof(double) + sizeof(float));

  WithinQuestion(const Family& flat, MetricSpec metric, std::int64_t queries, double radius,
                 std::optional<std::int64_t> memory_limit)
      : flat_(flat),
        metric_(metric),
        radius_(radius),
        budget_(memory_limit ? std::optional(*memory_limit / kBytesPerFound) : std::nullopt,
                "search fewer queries at a time or a smaller radius"),
        found_(static_cast<std::size_t>(queries)) {}

  // Whatever is found: a list here, an offset in the result.
  static std::int64_t bytes(std::int64_t queries) {
    return queries *
           static_cast<std::int64_t>(sizeof(std::vector<Neighbor>) + 2 * sizeof(std::int64_t));
  }

  const char* selector() const { return "all within the radius"; }
  FoundBudget& budget() { return budget_; }
  std::vector<Neighbor>& found_of(std::int64_t query) {
    return found_[static_cast<std::size_t>(query)];
  }

  Ranges scan(MatrixView queries, std::span<const AskedPart> parts, const Context& context) const {
    return flat_.within(queries, parts, radius_, context);
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
        result.distances.push_back(static_cast<float>(reported_value(metric_, neighbor.key)));
      }
      result.offsets.push_back(std::ssize(result.ids));
    }
  }

 private:
  const Family& flat_;
  MetricSpec metric_;
  double radius_;
  FoundBudget budget_;
  std::vector<std::vector<Neighbor>> found_;
};

}  // namespace nearfield
