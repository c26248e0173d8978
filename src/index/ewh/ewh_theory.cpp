#include "index/ewh/ewh_theory.hpp"

#include <algorithm>
#include <numeric>

#include "core/float_environment.hpp"

namespace nearfield {

// C(d, j) C(D - d, h - j) / C(D, h): bit by bit, since the numbers themselves are no float64s.
std::vector<double> error_chances(std::int64_t cols, std::int64_t differing, int bits, int errors) {
  const DefaultFloats floats;
  // chances[j]: of the bits looked at so far, j differ.
  std::vector<double> chances(static_cast<std::size_t>(bits) + 1);
  chances[0] = 1;
  for (std::int64_t looked_at = 0; looked_at < bits; ++looked_at) {
    const auto left = static_cast<double>(cols - looked_at);
    for (std::int64_t j = looked_at; j >= 0; --j) {
      const auto at = static_cast<std::size_t>(j);
      const auto differing_left = static_cast<double>(std::max<std::int64_t>(differing - j, 0));
      const double differs = std::min(differing_left / left, 1.0);
      chances[at + 1] += chances[at] * differs;
      chances[at] *= 1 - differs;
    }
  }
  chances.resize(static_cast<std::size_t>(errors) + 1);
  return chances;
}

std::vector<double> score_chances(const EwhShape& shape, std::span<const double> of_a_table) {
  const DefaultFloats floats;
  const double none = std::max(0.0, 1 - std::accumulate(of_a_table.begin(), of_a_table.end(), 0.0));
  std::vector<double> chances(static_cast<std::size_t>(shape.most_score()) + 1);
  chances[0] = 1;
  std::size_t most = 0;
  for (std::int64_t table = 0; table < shape.tables; ++table) {
    for (std::size_t score = most + 1; score-- > 0;) {
      const double before = chances[score];
      chances[score] = before * none;
      for (std::size_t error = 0; error < of_a_table.size(); ++error) {
        chances[score + static_cast<std::size_t>(shape.weights[error])] +=
            before * of_a_table[error];
      }
    }
    most += static_cast<std::size_t>(shape.weights.front());
  }
  return chances;
}

double chance_found(const EwhShape& shape, std::int64_t cols, std::int64_t differing) {
  if (shape.threshold > shape.most_score()) return 0;
  const std::vector<double> chances =
      score_chances(shape, error_chances(cols, differing, shape.bits, shape.errors()));
  // The smaller part, so that what is left of 1 is not lost.
  const double missed = std::accumulate(chances.begin(), chances.begin() + shape.threshold, 0.0);
  return std::clamp(1 - missed, 0.0, 1.0);
}

std::vector<double> chances_found(const EwhShape& shape, std::int64_t cols) {
  std::vector<double> chances;
  for (std::int64_t differing = 0; differing <= cols; ++differing) {
    chances.push_back(chance_found(shape, cols, differing));
  }
  return chances;
}

}  // namespace nearfield
