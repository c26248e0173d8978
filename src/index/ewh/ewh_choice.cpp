#include "index/ewh/ewh_choice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "core/float_environment.hpp"
#include "core/random.hpp"
#include "hash/near_buckets.hpp"
#include "hash/score_kernel.hpp"
#include "index/ewh/ewh_tuning.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kSamplePairs = 1024;
// Enough for how unlike rows differ: their distances lie close to each other.
constexpr std::size_t kQuantiles = 16;

// Tried where the caller leaves them open. Fewer bits are scored row by row, in the time of a
// byte a table; more make buckets of single rows.
constexpr std::array kTriedBits{4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24};
constexpr std::array<std::int64_t, 12> kTriedTables{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

// The finest weight: more does not tell more, and of 17 tables no more fits into a byte.
constexpr int kLargestWeight = 15;
// So that what was never seen is not impossible.
constexpr double kLeastChance = 1e-9;

std::int64_t count_differing(const std::byte* a, const std::byte* b, std::int64_t bytes) {
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < bytes; ++i) {
    differing += std::popcount(std::to_integer<std::uint8_t>(a[i] ^ b[i]));
  }
  return differing;
}

std::vector<std::int64_t> quantiles_of(const std::vector<std::int64_t>& sorted) {
  std::vector<std::int64_t> quantiles;
  for (std::size_t i = 0; i < kQuantiles; ++i) {
    quantiles.push_back(sorted[(2 * i + 1) * sorted.size() / (2 * kQuantiles)]);
  }
  return quantiles;
}

// Of rows at any of these distances, the same as error_chances.
std::vector<double> mean_error_chances(std::int64_t cols,
                                       const std::vector<std::int64_t>& distances, int bits,
                                       int errors) {
  std::vector<double> mean(static_cast<std::size_t>(errors) + 1);
  for (const std::int64_t distance : distances) {
    const std::vector<double> chances = error_chances(cols, distance, bits, errors);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += chances[i] / static_cast<double>(distances.size());
    }
  }
  return mean;
}

double chance_of_none(const std::vector<double>& chances) {
  return 1 - std::accumulate(chances.begin(), chances.end(), 0.0);
}

double log_odds(double near, double unlike) {
  return std::log(std::max(near, kLeastChance) / std::max(unlike, kLeastChance));
}

std::vector<int> telling_weights(const std::vector<double>& near, const std::vector<double>& unlike,
                                 int largest) {
  const double by_none = log_odds(chance_of_none(near), chance_of_none(unlike));
  const double most = log_odds(near[0], unlike[0]) - by_none;
  std::vector<int> weights;
  for (std::size_t i = 0; i < near.size(); ++i) {
    const double told = log_odds(near[i], unlike[i]) - by_none;
    const int before = weights.empty() ? largest : weights.back();
    const double share = most > 0 ? told / most : 1;
    weights.push_back(std::clamp(static_cast<int>(std::lround(largest * share)), 1, before));
  }
  return weights;
}

int largest_threshold(const EwhShape& shape, const std::vector<double>& near, double recall) {
  const std::vector<double> chances = score_chances(shape, near);
  double reached = 0;
  for (int score = shape.most_score(); score > 1; --score) {
    reached += chances[static_cast<std::size_t>(score)];
    if (reached >= recall) return score;
  }
  return 1;
}

// unlike: some of the distances between rows that have nothing to do with each other.
double cost_among(const EwhShape& shape, std::int64_t rows, std::int64_t cols,
                  const std::vector<std::int64_t>& unlike) {
  const EwhTuning& tuning = ewh_tuning();
  double short_list = 0;
  for (const std::int64_t distance : unlike) {
    short_list += chance_found(shape, cols, distance) / static_cast<double>(unlike.size());
  }
  const double verified = tuning.query + tuning.verify * short_list * static_cast<double>(rows);
  const auto tables = static_cast<double>(shape.tables);
  if (scores_every_row(shape)) return verified + tuning.score * tables * static_cast<double>(rows);
  const double touched =
      1 - chance_of_none(mean_error_chances(cols, unlike, shape.bits, shape.errors()));
  return verified +
         tables * (tuning.touch * touched * static_cast<double>(rows) +
                   tuning.lookup * static_cast<double>(near_buckets(shape.bits, shape.errors())));
}

// Shapes of some tables and bits.
class EwhChoosing {
 public:
  EwhChoosing(MatrixView like, std::int64_t rows, const EwhParameters& parameters)
      : rows_(rows),
        cols_(like.cols()),
        parameters_(parameters),
        unlike_(quantiles_of(sampled_distances(like))) {}

  EwhShape shape(std::int64_t tables, int bits) const {
    const int errors = std::min(parameters_.errors, bits);
    const std::vector<double> near = error_chances(cols_, parameters_.near, bits, errors);
    EwhShape shape{.tables = tables, .bits = bits, .weights = parameters_.weights};
    if (shape.weights.empty()) {
      const int largest = std::min<int>(kLargestWeight, kMostEwhScore / static_cast<int>(tables));
      shape.weights =
          telling_weights(near, mean_error_chances(cols_, unlike_, bits, errors), largest);
    }
    shape.threshold =
        parameters_.threshold.value_or(largest_threshold(shape, near, parameters_.recall));
    return shape;
  }

  // The first that takes least of those that find enough; or else, what finds most.
  EwhShape best(const Monitor& monitor) const {
    std::optional<EwhShape> best;
    double least_cost = 0;
    double most_found = 0;
    const EwhMost most = most_of_ewh(rows_, cols_, parameters_);
    for (const int bits : tried_bits(most.bits)) {
      for (const std::int64_t tables : tried_tables()) {
        monitor.check();
        if (!parameters_.weights.empty() && tables * parameters_.weights.front() > kMostEwhScore) {
          break;
        }
        const EwhShape tried = shape(tables, bits);
        const double found =
            std::min(chance_found(tried, cols_, parameters_.near), parameters_.recall);
        if (best && found < most_found) continue;
        const double cost = cost_among(tried, rows_, cols_, unlike_);
        if (best && found == most_found && cost >= least_cost) continue;
        best = tried;
        least_cost = cost;
        most_found = found;
      }
    }
    return *best;
  }

 private:
  std::vector<int> tried_bits(int most) const {
    if (parameters_.bits) return {*parameters_.bits};
    std::vector<int> bits;
    std::ranges::copy_if(kTriedBits, std::back_inserter(bits),
                         [&](int tried) { return tried <= most && tried >= parameters_.errors; });
    return bits.empty() ? std::vector{most} : bits;
  }
  std::vector<std::int64_t> tried_tables() const {
    if (parameters_.tables) return {*parameters_.tables};
    return {kTriedTables.begin(), kTriedTables.end()};
  }

  std::int64_t rows_;
  std::int64_t cols_;
  const EwhParameters& parameters_;
  std::vector<std::int64_t> unlike_;
};

}  // namespace

std::vector<std::int64_t> sampled_distances(MatrixView rows) {
  std::vector<std::int64_t> distances;
  const std::int64_t bytes = row_bytes(DType::bits, rows.cols());
  const std::int64_t pairs = std::min(rows.rows(), kSamplePairs);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const std::int64_t row = i * rows.rows() / pairs;
    const std::int64_t other = (row + rows.rows() / 2) % rows.rows();
    distances.push_back(count_differing(rows.row(row), rows.row(other), bytes));
  }
  std::ranges::sort(distances);
  return distances;
}

EwhShape choose_ewh(MatrixView like, std::int64_t rows, const EwhParameters& parameters,
                    const Monitor& monitor) {
  const DefaultFloats floats;
  return EwhChoosing(like, rows, parameters).best(monitor);
}

EwhMost most_of_ewh(std::int64_t rows, std::int64_t cols, const EwhParameters& parameters) {
  // A bucket has a row or more on average: more bits would make lookups of nothing.
  const int log_rows = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));
  const int most = static_cast<int>(std::min<std::int64_t>(kMostEwhBits, cols));
  return {parameters.tables.value_or(kMostEwhTables),
          parameters.bits.value_or(std::clamp(log_rows, std::max(1, parameters.errors), most))};
}

double ewh_cost(const EwhShape& shape, MatrixView rows) {
  if (rows.rows() == 0) return 0;
  const DefaultFloats floats;
  return cost_among(shape, rows.rows(), rows.cols(), quantiles_of(sampled_distances(rows)));
}

bool scores_every_row(const EwhShape& shape) { return shape.bits <= ewh_tuning().most_scored_bits; }

std::vector<std::uint32_t> random_positions(const EwhShape& shape, std::int64_t cols,
                                            std::int64_t seed) {
  std::vector<std::uint32_t> positions;
  for (std::int64_t table = 0; table < shape.tables; ++table) {
    Random random(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(table));
    std::vector<std::uint32_t> deck(static_cast<std::size_t>(cols));
    std::iota(deck.begin(), deck.end(), 0U);
    for (std::int64_t i = 0; i < shape.bits; ++i) {
      std::swap(deck[static_cast<std::size_t>(i)],
                deck[static_cast<std::size_t>(i + random.below(cols - i))]);
    }
    std::sort(deck.begin(), deck.begin() + shape.bits);
    positions.insert(positions.end(), deck.begin(), deck.begin() + shape.bits);
  }
  return positions;
}

}  // namespace nearfield
