// What a search of lsh finds on a device, as candidates with their keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "distance/settled_key.hpp"
#include "filter/filter.hpp"
#include "filter/filter_maker.hpp"
#include "filter/gpu/pairs_by_query.hpp"

namespace nearfield {

// Who lists the rows of buckets, and makes their keys.
class LshPairFinder {
 public:
  virtual ~LshPairFinder() = default;

  // Of queries of the batch with the first rows of these: as many as there is room for what is
  // found. Says how many rows these are. places: a pair in 64 bits, both from the first of theirs.
  virtual std::int64_t find(Range queries, Range rows, std::vector<std::uint64_t>& places,
                            std::vector<double>& keys) = 0;
  virtual bool is_finite(std::int64_t query) const = 0;
};

// Where they are spread evenly, a tenth less than fit.
inline std::int64_t rows_that_fit(std::int64_t rows, std::int64_t listed, std::int64_t most) {
  const double fit = 0.9 * static_cast<double>(most) / static_cast<double>(listed);
  return std::max<std::int64_t>(static_cast<std::int64_t>(fit * static_cast<double>(rows)), 1);
}

// Asked by one thread.
class LshDeviceFilter final : public Filter {
 public:
  LshDeviceFilter(LshPairFinder& finder, std::string name)
      : finder_(finder), name_(std::move(name)) {}

  void start(std::int64_t first_query) { first_query_ = first_query; }
  void take(const Piece& rows) { rows_ = rows; }

  void survivors(const Block& block, std::span<const double> /*thresholds*/,
                 Candidates& out) const override {
    const Range queries{block.queries.begin - first_query_, block.queries.end - first_query_};
    const Range rows = block.rows;
    const std::int64_t answered = finder_.find(queries, rows, places_, keys_);
    by_query_.sort(places_, queries.size());
    out.start_keyed({block.queries, {rows.begin, rows.begin + answered}}, std::ssize(places_));
    for (std::int64_t i = 0; i < queries.size(); ++i) {
      for (const std::uint32_t pair : by_query_.of(i)) {
        const std::int64_t row = rows.begin + static_cast<std::uint32_t>(places_[pair]);
        out.add(row, settled(keys_[pair], queries.begin + i, row));
      }
      out.end_query();
    }
  }

  bool certified() const override { return false; }
  std::string name() const override { return name_; }

 private:
  // A query that is not finite finds nothing.
  double settled(double key, std::int64_t query, std::int64_t row) const {
    if (!finder_.is_finite(query)) return std::numeric_limits<double>::quiet_NaN();
    return settled_key(key, rows_.view.dtype(), rows_.row(row), rows_.view.cols());
  }

  LshPairFinder& finder_;
  std::string name_;
  Piece rows_;
  std::int64_t first_query_ = 0;
  mutable std::vector<std::uint64_t> places_;
  mutable std::vector<double> keys_;
  mutable PairsByQuery by_query_;
};

}  // namespace nearfield
