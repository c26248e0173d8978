// The first of the three steps: something cheap that says which rows may be among the answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/aligned_array.hpp"
#include "filter/nearest_keys.hpp"

namespace nearfield {

// [begin, end)
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

// The unit of work between the steps: 16k pairs where there are as many, by tiles up to 512k, so
// that a virtual call a block costs nothing; fewer of rows so wide that a block would keep a
// cancelled search waiting.
struct Block {
  Range queries;
  Range rows;

  std::int64_t pairs() const { return queries.size() * rows.size(); }
};

// The rows of a block that may be in the answer of each query. Reused from block to block.
class Candidates {
 public:
  // Every row for every query.
  void start_dense(const Block& block);

  // None yet: for each query in turn, add rows, then end_query. most: of all queries.
  void start_listed(const Block& block) { start_listed(block, block.pairs()); }
  void start_listed(const Block& block, std::int64_t most);
  void add(std::int64_t row) {
    rows_.push_back(static_cast<std::uint32_t>(row - block_.rows.begin));
  }
  void end_query() { ends_.push_back(rows_.size()); }

  // The same, from a filter that knows the true keys: nobody need verify them.
  void start_keyed(const Block& block) { start_keyed(block, block.pairs()); }
  void start_keyed(const Block& block, std::int64_t most);
  void add(std::int64_t row, double key) {
    add(row);
    keys_.push_back(key);
  }

  // Of a listed block, keeps the pairs for which keep(query, row).
  template <class Keep>
  void keep_if(const Keep& keep);

  // For the filter's own use: on a cache line, holds anything, the same from block to block. Memory
  // of each block's own would be given back to the system and faulted in again for every block.
  std::byte* scratch(std::int64_t bytes);

  const Block& block() const { return block_; }
  bool dense() const { return dense_; }
  bool keyed() const { return keyed_; }
  std::span<const double> keys() const { return keys_; }  // query by query, if keyed
  std::int64_t size() const;

  // The rows of a query, counted from the block's first; empty and meaningless if dense.
  std::span<const std::uint32_t> rows_of(std::int64_t query) const {
    if (dense_) return {};
    const auto i = static_cast<std::size_t>(query - block_.queries.begin);
    return std::span(rows_).subspan(ends_[i], ends_[i + 1] - ends_[i]);
  }

  // Those of all queries, one after the other.
  std::span<const std::uint32_t> rows_of_all() const {
    return dense_ ? std::span<const std::uint32_t>() : rows_;
  }

  // How many rows a query has, dense or not, and the number of its i-th.
  std::int64_t count_of(std::int64_t query) const {
    return dense_ ? block_.rows.size() : static_cast<std::int64_t>(rows_of(query).size());
  }
  std::int64_t row(std::int64_t query, std::int64_t i) const {
    return block_.rows.begin + (dense_ ? i : rows_of(query)[static_cast<std::size_t>(i)]);
  }

 private:
  Block block_;
  bool dense_ = true;
  bool keyed_ = false;
  std::vector<std::uint32_t> rows_;  // query by query
  std::vector<double> keys_;
  std::vector<std::size_t> ends_;  // where each query's rows end
  AlignedArray<std::byte> scratch_;
  std::int64_t scratch_bytes_ = 0;
};

template <class Keep>
void Candidates::keep_if(const Keep& keep) {
  std::size_t kept = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
    const std::int64_t query = block_.queries.begin + static_cast<std::int64_t>(i);
    for (; next < ends_[i + 1]; ++next) {
      if (!keep(query, block_.rows.begin + rows_[next])) continue;
      if (keyed_) keys_[kept] = keys_[next];
      rows_[kept++] = rows_[next];
    }
    ends_[i + 1] = kept;  // read above, as the end of this query, before it is moved
  }
  rows_.resize(kept);
  if (keyed_) keys_.resize(kept);
}

class TwoSidedFilter;

class Filter {
 public:
  virtual ~Filter() = default;

  // Itself, if it is one.
  virtual const TwoSidedFilter* two_sided() const { return nullptr; }

  // thresholds[i]: of the block's i-th query, the key above which a row is of no use. A row whose
  // key may be at or below it is a candidate. May answer for the block's first rows only, as the
  // block of the candidates says: at least one. Called from many threads.
  virtual void survivors(const Block& block, std::span<const double> thresholds,
                         Candidates& out) const = 0;

  // True if what is dropped is proven to be of no use, so that the answer is exact.
  virtual bool certified() const = 0;

  virtual std::string name() const = 0;
};

class NearestFilter;

// A filter of rows that are queries too: one look at a pair serves both.
class TwoSidedFilter : public Filter {
 public:
  // Itself, if it is one.
  virtual const NearestFilter* nearest() const { return nullptr; }

  // As survivors; a row whose key may be at or below its own threshold, of row_thresholds, is a
  // candidate too.
  virtual void survivors_of_both(const Block& block, std::span<const double> thresholds,
                                 std::span<const double> row_thresholds, Candidates& out) const = 0;
};

// A filter that knows the keys, which are integers, and keeps the nearest itself: of its candidates
// only what is nearer than all before leaves it.
class NearestFilter {
 public:
  virtual ~NearestFilter() = default;

  // Offers each query of the block, which `queries` begins with, its rows and each row its queries.
  // `kept`: 1 if the second nearest of nobody matters, else 2. Returns how many pairs were offered.
  // Called from many threads, each with places of its own.
  virtual std::int64_t take_nearest(const Block& block, int kept, NearestPlaces queries,
                                    NearestPlaces rows) const = 0;
};

}  // namespace nearfield
