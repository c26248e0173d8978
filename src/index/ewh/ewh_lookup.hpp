// Queries scored in the tables of a run, and what reaches the threshold verified.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filter/bits/bit_kernel.hpp"
#include "hash/score_kernel.hpp"
#include "index/ewh/ewh_worker.hpp"

namespace nearfield {

// A row's score is the sum of the weights of the buckets it is met in: in each table by the number
// of bits in which its bucket differs from the query's. Three ways to the same scores. Where
// buckets have few bits, most rows are met: a kernel scores every row by the bytes its buckets are.
// Else the lists of the buckets are walked; and where many rows are met, they add to a byte a row,
// block by block, and where few, to a table of those that were met.
class EwhLookup final : public EwhWorker {
 public:
  // One a thread.
  EwhLookup(std::int64_t cols, Isa isa);

  // What one takes, with a run.
  static std::int64_t bytes(const EwhRun& run);

  void find(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
            const Monitor& monitor) override;

 private:
  // The rows of a bucket that are still to be scored.
  struct List {
    const std::uint32_t* next;
    const std::uint32_t* end;
    std::uint8_t weight;
  };

  struct MetRow {
    std::uint32_t row;
    std::uint32_t score;
  };

  void score_rows(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                  const Monitor& monitor);
  void walk_lists(const EwhAsking& asking, const EwhRows& in, Range piece, const Monitor& monitor);
  void collect_lists(const EwhRows& in, Range piece);
  void score_block(const EwhAsking& asking, const EwhRows& in, Range block, const Monitor& monitor);
  void score_met(const EwhAsking& asking, const EwhRows& in, Range piece, std::int64_t met,
                 const Monitor& monitor);
  void shorten(std::uint32_t row, int before, int after, const EwhAsking& asking, const EwhRows& in,
               const Monitor& monitor);
  void verify_short_list(const EwhAsking& asking, const EwhRows& in, const Monitor& monitor);

  const BitKernel& bits_;
  const ScoreKernel& scores_of_rows_;
  std::vector<std::uint64_t> query_;
  std::vector<std::uint32_t> query_buckets_;
  std::vector<std::uint8_t> query_codes_;
  std::vector<List> lists_;
  std::vector<std::uint8_t> scores_;  // of a block; all 0 between blocks
  std::vector<MetRow> met_;           // a table by their numbers, of a power of two
  std::vector<std::uint32_t> short_list_;
  std::vector<std::uint32_t> differing_;
};

}  // namespace nearfield
