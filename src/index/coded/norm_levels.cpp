// A key is too small or too large by what its norm is off: what levels must keep small.
#include "index/coded/norm_levels.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "code/code_scan.hpp"
#include "core/checked.hpp"
#include "core/float_environment.hpp"

namespace nearfield {
namespace {

// Of the levels of CodedNorms::byte, those that no norm of the sample may have. Rows that come
// later can be shorter and longer than all that were there, and their keys be right but for half a
// step nonetheless: down to 0 and up to the longest code that there is.
constexpr std::int64_t kLevelsBelow = 8;
constexpr std::int64_t kLevelsAbove = 16;
constexpr std::int64_t kLevelsWithin = kByteEntries - kLevelsBelow - kLevelsAbove;

// Lloyd's iterations; most ends are reached in 20.
constexpr int kMostIterations = 100;

// Buckets of exact norms: any that rise are right, these are even steps.
std::vector<float> even_floors(double least, double most) {
  const double step = (most - least) / kByteEntries;
  std::vector<float> floors;
  for (std::int64_t i = 0; i < kByteEntries; ++i) {
    floors.push_back(static_cast<float>(least + static_cast<double>(i) * step));
  }
  return floors;
}

// Each centre becomes the mean of those nearest to it, if there are any. Norms and centres rise,
// and means of what lies one behind the other do too. False if all were that already.
bool move_to_means(const std::vector<float>& norms, std::vector<double>& centres) {
  bool moved = false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < centres.size(); ++i) {
    const double limit = i + 1 < centres.size() ? (centres[i] + centres[i + 1]) / 2
                                                : std::numeric_limits<double>::infinity();
    const std::size_t first = at;
    double sum = 0;
    for (; at < norms.size() && static_cast<double>(norms[at]) < limit; ++at) {
      sum += static_cast<double>(norms[at]);
    }
    if (at == first) continue;
    const double mean = sum / static_cast<double>(at - first);
    moved = moved || mean != centres[i];
    centres[i] = mean;
  }
  return moved;
}

double root_of_gap(const std::vector<float>& distinct, std::size_t i) {
  return std::sqrt(static_cast<double>(distinct[i + 1]) - static_cast<double>(distinct[i]));
}

// In even steps of the sum of the square roots of the gaps between norms, which is between as many
// norms for each centre and as long a way. Of quantiles the centres in the middle stay too many:
// Lloyd's iterations do not move them past each other, and what is rare and long has none nearby.
std::vector<double> first_centres(const std::vector<float>& distinct) {
  double total = 0;
  for (std::size_t i = 0; i + 1 < distinct.size(); ++i) total += root_of_gap(distinct, i);
  std::vector<double> centres;
  std::size_t gap = 0;
  double before = 0;
  for (std::int64_t i = 0; i < kLevelsWithin; ++i) {
    const double goal = total * (static_cast<double>(i) + 0.5) / kLevelsWithin;
    while (gap + 2 < distinct.size() && before + root_of_gap(distinct, gap) <= goal) {
      before += root_of_gap(distinct, gap++);
    }
    const double part = std::min((goal - before) / root_of_gap(distinct, gap), 1.0);
    const auto begin = static_cast<double>(distinct[gap]);
    centres.push_back(begin + part * (static_cast<double>(distinct[gap + 1]) - begin));
  }
  return centres;
}

// k-means in one dimension. Where no more norms differ than there are levels, they are the levels.
std::vector<float> means_of(std::vector<float> norms) {
  constexpr auto kMeans = static_cast<std::size_t>(kLevelsWithin);
  std::ranges::sort(norms);
  std::vector<float> distinct;
  std::ranges::unique_copy(norms, std::back_inserter(distinct));
  if (distinct.size() <= kMeans) {
    distinct.resize(kMeans, distinct.empty() ? 0.0F : distinct.back());
    return distinct;
  }
  std::vector<double> centres = first_centres(distinct);
  int iterations = 0;
  while (iterations < kMostIterations && move_to_means(norms, centres)) ++iterations;
  return {centres.begin(), centres.end()};
}

// Even steps from 0 to below the least: a row that is shorter is off by half of one.
void put_below(double least, std::vector<float>& levels) {
  for (std::int64_t i = 0; i < kLevelsBelow; ++i) {
    levels.push_back(static_cast<float>(least * static_cast<double>(i) / kLevelsBelow));
  }
}

// Each as many times the one before, since codes may be far longer than what was there. Their 16th
// root is four square roots, whose bits are the same everywhere.
void put_above(double most, double longest, std::vector<float>& levels) {
  static_assert(kLevelsAbove == 16);
  constexpr double kMostTimes = 1 << kLevelsAbove;  // a step at most doubles
  double level = std::max(most, longest / kMostTimes);
  double times = level > 0 ? std::max(longest / level, 1.0) : 1;
  for (int i = 0; i < 4; ++i) times = std::sqrt(times);
  for (std::int64_t i = 0; i < kLevelsAbove; ++i) {
    level *= times;
    levels.push_back(static_cast<float>(level));
  }
}

}  // namespace

NormSample::NormSample(std::int64_t total)
    : step_(std::max<std::int64_t>(divide_up(total, kMostTaken), 1)) {}

void NormSample::add(std::span<const float> norms) {
  for (const float norm : norms) {
    least_ = std::min(least_, norm);
    most_ = std::max(most_, norm);
    if (seen_++ % step_ == 0) taken_.push_back(norm);
  }
}

std::vector<float> NormSample::levels(CodedNorms kept, double longest) const {
  const DefaultFloats floats;
  const double least = seen_ > 0 ? static_cast<double>(least_) : 0;
  const double most = seen_ > 0 ? static_cast<double>(most_) : 0;
  if (kept == CodedNorms::exact) return even_floors(least, most);
  std::vector<float> within = taken_;
  if (step_ > 1) within.insert(within.end(), {least_, most_});
  std::vector<float> levels;
  put_below(least, levels);
  std::ranges::copy(means_of(std::move(within)), std::back_inserter(levels));
  put_above(most, longest, levels);
  return levels;
}

std::uint8_t norm_level_of(const std::vector<float>& levels, float norm, CodedNorms kept) {
  const auto above = std::ranges::upper_bound(levels, norm);
  if (above == levels.begin()) return 0;
  auto level = above - levels.begin() - 1;
  if (kept == CodedNorms::byte && above != levels.end() && *above - norm < norm - *(above - 1)) {
    ++level;
  }
  return static_cast<std::uint8_t>(level);
}

}  // namespace nearfield
