// Which rows of the base the caller allows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/monitor.hpp"
#include "filter/filter.hpp"

namespace nearfield {

// Where query i is row i of the base: which rows it may meet.
enum class Meets {
  every_row,
  other_rows,  // not itself
  later_rows,  // so that each pair comes once
};

// Not a filter: filters guess at distances, and any of them can be asked about any set of rows. The
// loop in scan/ restricts what a filter lets through.
class RowSet {
 public:
  // All rows of the base.
  static RowSet all() { return RowSet(Kind::all); }

  // Rows whose bit is set. Looks at the caller's words, one for each 64 rows.
  static RowSet bitset(std::span<const std::uint64_t> words);

  // Rows in the list, in any order, repeated or not, all below `rows`. Takes no more memory than
  // the list.
  static RowSet list(std::span<const std::int64_t> ids, std::int64_t rows, const Monitor& monitor);

  void set_meets(Meets meets) { meets_ = meets; }
  Meets meets() const { return meets_; }

  // Keeps of the candidates those that are in the set.
  void restrict(Candidates& candidates) const;

  // Pairs of the block that are searched: all, but for those that later_rows leaves out.
  std::int64_t pairs_in(const Block& block) const;

 private:
  enum class Kind { all, bitset, list };

  explicit RowSet(Kind kind) : kind_(kind) {}

  // Calls use(row) for each row of the range that is in the set, rising.
  template <class Use>
  void for_each(Range rows, const Use& use) const;

  bool contains(std::int64_t row) const;
  bool may_meet(std::int64_t query, std::int64_t row) const;

  Kind kind_;
  Meets meets_ = Meets::every_row;
  std::span<const std::uint64_t> words_;
  std::vector<std::uint64_t> own_words_;  // of a list with more than a row in 64
  std::vector<std::int64_t> ids_;         // of any other list: sorted, each once
};

}  // namespace nearfield
