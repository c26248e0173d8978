#include "search/seeds.hpp"

#include <cmath>
#include <span>

#include "core/checked.hpp"
#include "search/allowed_rows.hpp"

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

// Those of the rows that are sampled.
std::vector<std::uint64_t> sampled_bits(std::span<const std::uint64_t> words,
                                        std::int64_t sampled) {
  if (words.empty()) return {};
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(divide_up(sampled, 64)));
  for (std::int64_t i = 0; i < sampled; ++i) {
    const std::int64_t row = i * kOneOf;
    const std::uint64_t bit = words[static_cast<std::size_t>(row / 64)] >> (row % 64) & 1;
    bits[static_cast<std::size_t>(i / 64)] |= bit << (i % 64);
  }
  return bits;
}

}  // namespace

std::int64_t SampledRows::rows() const { return base_.rows() / kOneOf; }

std::optional<MatrixView> SampledRows::in_memory() const {
  const auto all = base_.in_memory();
  if (!all) return std::nullopt;
  return MatrixView(all->row(0), all->dtype(), rows(), all->cols(), all->stride_bytes() * kOneOf);
}

void SampledRows::read(std::int64_t first, std::int64_t count, Matrix& into,
                       std::int64_t at) const {
  for (std::int64_t i = 0; i < count; ++i) base_.read((first + i) * kOneOf, 1, into, at + i);
}

std::optional<Sampling> choose_sampling(const RowSource& base, const RowFilter& filter,
                                        std::int64_t k) {
  const SampledRows rows(base);
  const std::int64_t sampled = rows.rows();
  if (k < 1 || sampled < k || filter.kind() == RowFilter::Kind::list) return std::nullopt;
  // Too few words are an error, which the search itself words.
  if (!filter.words().empty() && std::ssize(filter.words()) < divide_up(base.rows(), 64)) {
    return std::nullopt;
  }
  const double expected = static_cast<double>(k) / kOneOf;
  const double rank = std::ceil(expected + kDeviations * std::sqrt(expected) + kMoreRanks);
  const double found = static_cast<double>(allowed_rows(filter, base.rows())) / kOneOf;
  if (rank >= found) return std::nullopt;
  const double saved =
      kept_of(found * kOneOf, static_cast<double>(k)) - kept_of(found, rank) - rank * kOneOf;
  if (saved * kPairsOfAKeptRow < static_cast<double>(sampled)) return std::nullopt;
  return Sampling{rows, sampled_bits(filter.words(), sampled), static_cast<std::int64_t>(rank)};
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
