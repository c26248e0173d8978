#include "index/pivot/choose_pivots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/infinity.hpp"
#include "core/random.hpp"
#include "object/object_verifier.hpp"

namespace nearfield {
namespace {

// Whatever the choice, so many distances say how large distances are, if the budget has as many
// left.
constexpr std::int64_t kScaleSample = 256;

// Of pairs by which incremental choice judges a candidate, and of candidates for each pivot. With
// little to spend, few pairs for some candidates are better than many for one.
constexpr std::int64_t kMostJudged = 256;
constexpr std::int64_t kMostCandidates = 64;
constexpr std::int64_t kFewCandidates = 8;

// The first `count` of a random order.
std::vector<std::int64_t> some_of(std::span<const std::int64_t> rows, std::int64_t count,
                                  Random& random) {
  std::vector<std::int64_t> all(rows.begin(), rows.end());
  count = std::min(count, std::ssize(all));
  for (std::int64_t i = 0; i < count; ++i) {
    std::swap(all[static_cast<std::size_t>(i)],
              all[static_cast<std::size_t>(i + random.below(std::ssize(all) - i))]);
  }
  all.resize(static_cast<std::size_t>(count));
  return all;
}

class Choosing {
 public:
  Choosing(const ObjectMetric& metric, const ObjectList& objects, std::int64_t pool,
           std::int64_t budget, Isa isa, const Monitor& monitor)
      : metric_(metric),
        objects_(objects),
        pool_(pool),
        budget_(budget),
        isa_(isa),
        monitor_(monitor) {}

  std::vector<std::int64_t> random(std::span<const std::int64_t> rows, Random& numbers) {
    return some_of(rows, pool_, numbers);
  }

  // Of a sample as large as the budget allows, each time the object whose nearest pivot is the
  // farthest. Where it allows none larger than the pool, all of the sample are chosen, and as far
  // as it reaches in that order.
  std::vector<std::int64_t> max_separation(std::span<const std::int64_t> rows, Random& numbers) {
    const std::vector<std::int64_t> sample =
        some_of(rows, std::max(budget_ / pool_, pool_), numbers);
    constexpr double kChosen = -1;  // nearer than any distance: never again
    std::vector<double> nearest(sample.size(), kInfinity);
    std::vector<std::int64_t> chosen;
    std::size_t next = 0;  // the first is any
    while (std::ssize(chosen) < std::min(pool_, std::ssize(sample))) {
      chosen.push_back(sample[next]);
      nearest[next] = kChosen;
      if (computed_ + std::ssize(sample) > budget_) break;
      const std::vector<double> away = distances(sample[next], sample);
      for (std::size_t i = 0; i < sample.size(); ++i) nearest[i] = std::min(nearest[i], away[i]);
      next = static_cast<std::size_t>(std::max_element(nearest.begin(), nearest.end()) -
                                      nearest.begin());
    }
    for (std::size_t i = 0; i < sample.size() && std::ssize(chosen) < pool_; ++i) {
      if (nearest[i] != kChosen) chosen.push_back(sample[i]);
    }
    return chosen;
  }

  // Each time the candidate that raises the sum of the bounds between some pairs most. Random where
  // the budget allows no two candidates.
  std::vector<std::int64_t> incremental(std::span<const std::int64_t> rows, Random& numbers) {
    const std::int64_t judged =
        std::clamp<std::int64_t>(budget_ / (2 * pool_ * kFewCandidates), 1, kMostJudged);
    const std::int64_t candidates = std::min(budget_ / (2 * pool_ * judged), kMostCandidates);
    if (candidates < 2) return random(rows, numbers);
    const std::vector<std::int64_t> pairs = some_of_any(rows, 2 * judged, numbers);
    std::vector<double> bounds(static_cast<std::size_t>(judged), 0);
    std::vector<std::int64_t> left = some_of(rows, pool_ * candidates, numbers);
    std::vector<std::int64_t> chosen;
    while (std::ssize(chosen) < pool_ && !left.empty()) {
      std::vector<double> best_bounds;
      double best_sum = -1;
      std::size_t best = 0;
      const auto looked_at = static_cast<std::size_t>(std::min(candidates, std::ssize(left)));
      for (std::size_t i = 0; i < looked_at; ++i) {
        std::vector<double> raised = raised_by(left[i], pairs, bounds);
        double sum = 0;
        for (const double bound : raised) sum += bound;
        if (sum <= best_sum) continue;
        best_sum = sum;
        best_bounds = std::move(raised);
        best = i;
      }
      chosen.push_back(left[best]);
      bounds = std::move(best_bounds);
      // The others of the round come again when all have been looked at.
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
      std::rotate(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(looked_at - 1),
                  left.end());
    }
    return chosen;
  }

  std::vector<double> distances(std::int64_t from, std::span<const std::int64_t> to) {
    std::vector<ObjectView> views;
    views.reserve(to.size());
    for (const std::int64_t row : to) views.push_back(objects_.view(row));
    std::vector<double> out(to.size());
    all_distances(metric_, objects_.view(from), views, isa_, out, monitor_);
    computed_ += std::ssize(out);
    for (const double distance : out) largest_ = std::max(largest_, distance);
    return out;
  }

  double largest() const { return largest_; }
  std::int64_t computed() const { return computed_; }

 private:
  static std::vector<std::int64_t> some_of_any(std::span<const std::int64_t> rows,
                                               std::int64_t count, Random& numbers) {
    std::vector<std::int64_t> any;
    for (std::int64_t i = 0; i < count; ++i) {
      any.push_back(rows[static_cast<std::size_t>(numbers.below(std::ssize(rows)))]);
    }
    return any;
  }

  std::vector<double> raised_by(std::int64_t pivot, std::span<const std::int64_t> pairs,
                                std::span<const double> bounds) {
    const std::vector<double> away = distances(pivot, pairs);
    std::vector<double> raised(bounds.begin(), bounds.end());
    for (std::size_t i = 0; i < raised.size(); ++i) {
      raised[i] = std::max(raised[i], std::abs(away[2 * i] - away[2 * i + 1]));
    }
    return raised;
  }

  const ObjectMetric& metric_;
  const ObjectList& objects_;
  const std::int64_t pool_;
  const std::int64_t budget_;
  const Isa isa_;
  const Monitor& monitor_;
  double largest_ = 0;
  std::int64_t computed_ = 0;
};

}  // namespace

ChosenPivots choose_pivots(const ObjectMetric& metric, const ObjectList& objects,
                           std::span<const std::int64_t> rows, std::int64_t pool,
                           const PivotOptions& options, std::uint64_t seed, Isa isa,
                           const Monitor& monitor) {
  ChosenPivots result;
  if (rows.empty()) return result;
  Random numbers(seed);
  Choosing choosing(metric, objects, pool, options.choice_budget, isa, monitor);
  if (pool > 0) {
    switch (options.choice) {
      case PivotChoice::random:
        result.rows = choosing.random(rows, numbers);
        break;
      case PivotChoice::max_separation:
        result.rows = choosing.max_separation(rows, numbers);
        break;
      case PivotChoice::incremental:
        result.rows = choosing.incremental(rows, numbers);
        break;
    }
  }
  const std::vector<std::int64_t> sample = some_of(rows, kScaleSample, numbers);
  const std::vector<std::int64_t> from =
      result.rows.empty() ? std::vector{sample.front()} : result.rows;
  std::int64_t left = std::min(kScaleSample, options.choice_budget - choosing.computed());
  const std::int64_t each =
      std::min(std::max<std::int64_t>(left / std::ssize(from), 1), std::ssize(sample));
  for (const std::int64_t row : from) {
    const std::int64_t count = std::min(each, left);
    if (count == 0) break;
    choosing.distances(row, std::span(sample).first(static_cast<std::size_t>(count)));
    left -= count;
  }
  result.largest = choosing.largest();
  result.distances = choosing.computed();
  return result;
}

}  // namespace nearfield
