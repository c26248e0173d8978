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
#include <nearfield/rows.hpp>

namespace nearfield {

// One row of some of a base, which it looks at.
class SampledRows final : public RowSource {
 public:
  explicit SampledRows(const RowSource& base) : base_(base) {}

  DType dtype() const override { return base_.dtype(); }
  std::int64_t rows() const override;
  std::int64_t cols() const override { return base_.cols(); }
  std::optional<MatrixView> in_memory() const override;
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override;

 private:
  const RowSource& base_;
};

struct Sampling {
  SampledRows rows;
  std::vector<std::uint64_t> allowed;  // a bit for each of them, or empty
  std::int64_t rank;                   // among them, of the row whose key is the guess

  std::int64_t bytes() const { return std::ssize(allowed) * 8; }
  RowFilter filter() const { return allowed.empty() ? RowFilter() : RowFilter::bitset(allowed); }
};

// Empty where it would save less than it costs, and for a list of rows.
std::optional<Sampling> choose_sampling(const RowSource& base, const RowFilter& filter,
                                        std::int64_t k);

// Of each query, the key of that rank: those of a search for so many in the sample.
std::vector<double> guessed_limits(const Neighbors& in_sample);

}  // namespace nearfield
