// Thresholds before a search begins, guessed from a sample of the rows.
//
// A search for the k nearest of n rows that begins without a threshold keeps k (1 + ln(n / k)) rows
// on its way, most of which it drops again: 8 for each that stays, of 1,000,000 and k = 1,000. A
// sample of one row in 31 says at which key about k rows are; a little above it, hardly more are
// kept. A guess that was too low is noticed, since fewer than k are found, and that query is
// searched again without one.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include <nearfield/knn.hpp>
#include <nearfield/matrix.hpp>

namespace nearfield {

struct Sampling {
  MatrixView rows;
  std::vector<std::uint64_t> allowed;  // a bit for each of them, or empty
  std::int64_t rank;                   // among them, of the row whose key is the guess

  std::int64_t bytes() const { return std::ssize(allowed) * 8; }
  RowFilter filter() const { return allowed.empty() ? RowFilter() : RowFilter::bitset(allowed); }
};

// Empty where it would save less than it costs, and for a list of rows.
std::optional<Sampling> choose_sampling(MatrixView base, const RowFilter& filter, std::int64_t k);

// Of each query, the key of that rank: those of a search for so many in the sample.
std::vector<double> guessed_limits(const Neighbors& in_sample);

}  // namespace nearfield
