#include "search/seeds.hpp"

#include <cmath>

namespace nearfield {
namespace {

// One row of so many is in the sample. Odd, and no power of two: rows whose order repeats with one,
// and caches, would be sampled badly.
constexpr std::int64_t kOneOf = 31;

// By how many standard deviations the guess is above what is expected, so that one query of 30,000
// is searched again, and some ranks more, for where few are expected.
constexpr double kDeviations = 4;
constexpr double kMoreRanks = 4;

// A row that is kept for a while takes as long as so many products of it in tiles.
constexpr double kPairsOfAKeptRow = 128;

// Rows that a search keeps which begins without a threshold.
double kept_of(double rows, double k) { return k * (1 + std::log(rows / k)); }

}  // namespace

std::optional<Sampling> choose_sampling(MatrixView base, std::int64_t k) {
  const std::int64_t sampled = base.rows() / kOneOf;
  if (k < 1 || sampled < k) return std::nullopt;
  const double expected = static_cast<double>(k) / kOneOf;
  const double rank = std::ceil(expected + kDeviations * std::sqrt(expected) + kMoreRanks);
  const auto rows = static_cast<double>(sampled);
  if (rank >= rows) return std::nullopt;
  const double saved =
      kept_of(rows * kOneOf, static_cast<double>(k)) - kept_of(rows, rank) - rank * kOneOf;
  if (saved * kPairsOfAKeptRow < rows) return std::nullopt;
  return Sampling{{base.row(0), base.dtype(), sampled, base.cols(), base.stride_bytes() * kOneOf},
                  static_cast<std::int64_t>(rank)};
}

std::vector<double> guessed_limits(const Neighbors& in_sample) {
  std::vector<double> limits;
  limits.reserve(static_cast<std::size_t>(in_sample.queries));
  for (std::int64_t query = 0; query < in_sample.queries; ++query) {
    limits.push_back(in_sample.keys_of(query).back());  // infinite where fewer were found
  }
  return limits;
}

}  // namespace nearfield
