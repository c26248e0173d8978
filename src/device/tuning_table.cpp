#include "device/tuning_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nearfield {
namespace {

// Of none as of one.
double log_of(std::int64_t count) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(count, 1)));
}

double squared_log(std::int64_t a, std::int64_t b) {
  const double difference = log_of(a) - log_of(b);
  return difference * difference;
}

double distance(const TuningShape& a, const TuningShape& b) {
  return squared_log(a.queries, b.queries) + squared_log(a.rows, b.rows) +
         squared_log(a.cols, b.cols) + squared_log(a.k, b.k);
}

const Timing* find(const TuningPoint& point, std::string_view name) {
  const auto found = std::ranges::find(point.timings, name, &Timing::name);
  return found == point.timings.end() ? nullptr : &*found;
}

}  // namespace

double Timing::median() const {
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

std::optional<std::size_t> fastest(std::span<const TuningPoint> points, const TuningShape& shape,
                                   std::span<const std::string_view> candidates) {
  const TuningPoint* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const TuningPoint& point : points) {
    const bool has_all = std::ranges::all_of(
        candidates, [&](std::string_view name) { return find(point, name) != nullptr; });
    if (const double far = distance(point.shape, shape); has_all && far < least) {
      nearest = &point;
      least = far;
    }
  }
  if (nearest == nullptr) return std::nullopt;
  std::size_t best = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    if (find(*nearest, candidates[i])->median() < find(*nearest, candidates[best])->median()) {
      best = i;
    }
  }
  return best;
}

}  // namespace nearfield
