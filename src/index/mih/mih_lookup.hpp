// One query looked up in the tables of a run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/checked.hpp"
#include "core/monitor.hpp"
#include "filter/bits/bit_kernel.hpp"
#include "index/mih/mih_tables.hpp"
#include "index/search_goal.hpp"

namespace nearfield {

// The rows of a run, and which of them may be found.
struct MihRows {
  const MihRun* run;
  MatrixView rows;                      // of the run alone
  std::span<const std::uint64_t> live;  // a bit for each row of its part; empty: all
};

// Two rows that differ in at most r bits differ in at most r / m bits of one of m substrings, and
// more closely: numbering by s = 0, 1, ... the pairs of a number of differing bits and a table,
// (0, 0), (0, 1), ... (0, m - 1), (1, 0), ..., one of the first r + 1 pairs finds the row. So the
// tables are asked pair by pair, and after the s-th all rows are found that differ in s bits.
//
// What a lookup waits for is memory: buckets are asked for many at a time, each step for all of
// them before the next.
class MihLookup {
 public:
  // One a thread.
  MihLookup(std::int64_t cols, Isa isa)
      : kernel_(bit_kernel(isa)), query_(static_cast<std::size_t>(divide_up(cols, 64))) {}

  // False if it would cost more than the budget, in nanoseconds, or has: what was found is then not
  // all. Throws what the monitor throws, and corrupt_file.
  bool find(const std::byte* query, const MihRows& in, double budget, const Monitor& monitor,
            SearchGoal& goal);

  // Rows whose keys were computed, in all calls.
  std::int64_t verified() const { return verified_; }

 private:
  struct Asking;

  bool ask(const Asking& asking);
  void collect(const Asking& asking, std::span<const std::uint32_t> buckets);
  void verify(const Asking& asking);
  bool found_before(const Asking& asking, std::int64_t row) const;

  const BitKernel& kernel_;
  std::vector<std::uint64_t> query_;
  double pace_ = 1;  // of waiting, by where the tables are
  double spent_ = 0;
  std::int64_t verified_ = 0;
  std::vector<std::uint32_t> query_buckets_;
  std::vector<std::span<const std::uint32_t>> full_;  // buckets with rows
  std::vector<std::uint32_t> picks_;                  // rows to be verified
  std::vector<std::uint32_t> differing_;
};

// What looking up so far as to find all that differ in `bits` bits takes, in nanoseconds, if rows
// were spread evenly.
double lookup_cost(const MihRun& run, std::int64_t bits);

// What a scan takes of so many rows, for each of so many queries.
double scan_cost(std::int64_t rows, std::int64_t row_bytes, std::int64_t queries);

}  // namespace nearfield
