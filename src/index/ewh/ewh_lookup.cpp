#include "index/ewh/ewh_lookup.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/checked.hpp"
#include "hash/near_buckets.hpp"
#include "hash/substrings.hpp"
#include "index/part.hpp"
#include "index/rows_between.hpp"

namespace nearfield {
namespace {

// Scored by the kernel at a time: of 8 tables 128 KiB, which are in L2 for all queries of a group.
constexpr std::int64_t kScoredRows = 1 << 14;

// Where of so many rows one is met, scores are kept in L2, block by block. Where fewer are, lists
// are too short to be cut, and a table of those that are met fits into L2: of 4,000,000 rows 2 MiB.
constexpr std::int64_t kRowsPerMet = 64;
constexpr std::int64_t kScoreBlock = 1 << 18;
constexpr std::size_t kListsBetweenChecks = 16;  // of a block: a millisecond each, at most
constexpr std::uint32_t kNotMet = ~std::uint32_t{0};

// Rows of a short list that memory is asked for at a time.
constexpr std::size_t kVerifiedRows = 256;

}  // namespace

EwhLookup::EwhLookup(std::int64_t cols, Isa isa)
    : bits_(bit_kernel(isa)),
      scores_of_rows_(score_kernel(isa)),
      query_(static_cast<std::size_t>(divide_up(cols, 64))) {}

std::int64_t EwhLookup::bytes(const EwhRun& run) {
  const std::int64_t short_list = kScoredRows * static_cast<std::int64_t>(sizeof(std::uint32_t));
  if (!run.codes.empty()) return 2 * short_list;
  const std::int64_t lists = run.shape.tables * near_buckets(run.shape.bits, run.shape.errors());
  // A table has at most four slots for each row that is met. Lists grow by doubling.
  return short_list + std::min(kScoreBlock, run.rows.size()) +
         4 * (run.rows.size() / kRowsPerMet + 1) * static_cast<std::int64_t>(sizeof(MetRow)) +
         2 * lists * static_cast<std::int64_t>(sizeof(List));
}

void EwhLookup::find(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                     const Monitor& monitor) {
  if (!in.run->codes.empty()) return score_rows(asking, in, piece, monitor);
  for (const EwhAsking& one : asking) walk_lists(one, in, piece, monitor);
}

void EwhLookup::score_rows(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                           const Monitor& monitor) {
  const EwhShape& shape = in.run->shape;
  const auto tables = static_cast<std::size_t>(shape.tables);
  query_codes_.resize(asking.size() * tables);
  for (std::size_t i = 0; i < asking.size(); ++i) {
    in.run->write_query_buckets(asking[i].query, in.rows.cols(), query_buckets_);
    copy_codes(query_buckets_, &query_codes_[i * tables]);
  }
  ScoreJob job;
  job.stride = in.run->rows.size();
  job.tables = shape.tables;
  job.threshold = static_cast<std::uint8_t>(shape.threshold);
  std::ranges::copy(shape.weights, job.weights.begin());
  for (std::int64_t first = piece.begin; first < piece.end; first += kScoredRows) {
    job.buckets = in.run->codes.data() + first;
    job.rows = std::min(kScoredRows, piece.end - first);
    for (std::size_t i = 0; i < asking.size(); ++i) {
      job.query = &query_codes_[i * tables];
      short_list_.resize(static_cast<std::size_t>(job.rows));
      job.found = short_list_.data();
      short_list_.resize(static_cast<std::size_t>(scores_of_rows_.find(job)));
      for (std::uint32_t& row : short_list_) row += static_cast<std::uint32_t>(first);
      verify_short_list(asking[i], in, monitor);
    }
  }
  considered_ += piece.size() * std::ssize(asking);
}

void EwhLookup::walk_lists(const EwhAsking& asking, const EwhRows& in, Range piece,
                           const Monitor& monitor) {
  in.run->write_query_buckets(asking.query, in.rows.cols(), query_buckets_);
  collect_lists(in, piece);
  std::int64_t met = 0;
  for (const List& list : lists_) met += list.end - list.next;
  considered_ += met;
  if (met * kRowsPerMet < piece.size()) return score_met(asking, in, piece, met, monitor);
  scores_.resize(static_cast<std::size_t>(
      std::max<std::int64_t>(std::ssize(scores_), std::min(kScoreBlock, piece.size()))));
  for (std::int64_t first = piece.begin; first < piece.end; first += kScoreBlock) {
    const Range block{first, std::min(first + kScoreBlock, piece.end)};
    score_block(asking, in, block, monitor);
    std::fill_n(scores_.begin(), block.size(), std::uint8_t{0});
  }
}

// First where they begin is asked for, of all buckets of a table, then their rows.
void EwhLookup::collect_lists(const EwhRows& in, Range piece) {
  const EwhShape& shape = in.run->shape;
  const bool whole = piece.size() == in.run->rows.size();
  lists_.clear();
  for (std::size_t table = 0; table < query_buckets_.size(); ++table) {
    const BucketView& view = in.run->tables[table];
    for_each_near_bucket(query_buckets_[table], shape.bits, shape.errors(),
                         [&](std::uint32_t bucket, int) { view.prefetch(bucket); });
    for_each_near_bucket(
        query_buckets_[table], shape.bits, shape.errors(), [&](std::uint32_t bucket, int error) {
          std::span<const std::uint32_t> rows = view.of(bucket);
          if (!whole) rows = rows_between(rows, piece);
          if (rows.empty()) return;
          __builtin_prefetch(rows.data());
          lists_.push_back(
              {rows.data(), rows.data() + rows.size(),
               static_cast<std::uint8_t>(shape.weights[static_cast<std::size_t>(error)])});
        });
  }
}

void EwhLookup::score_block(const EwhAsking& asking, const EwhRows& in, Range block,
                            const Monitor& monitor) {
  const auto begin = static_cast<std::uint32_t>(block.begin);
  const auto rows = static_cast<std::uint32_t>(block.size());
  const bool last = block.end == in.run->rows.end;
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    if (i % kListsBetweenChecks == 0) monitor.check();
    List& list = lists_[i];
    for (; list.next != list.end; ++list.next) {
      // Very large of a row before the block, which only a damaged file has: it is left out.
      const std::uint32_t at = *list.next - begin;
      if (at >= rows) {
        if (last) in.run->tables.front().check_row(*list.next);
        break;
      }
      const int before = scores_[at];
      scores_[at] = static_cast<std::uint8_t>(before + list.weight);
      shorten(*list.next, before, before + list.weight, asking, in, monitor);
    }
  }
  verify_short_list(asking, in, monitor);
}

void EwhLookup::score_met(const EwhAsking& asking, const EwhRows& in, Range piece, std::int64_t met,
                          const Monitor& monitor) {
  const std::size_t slots = std::bit_ceil(static_cast<std::size_t>(2 * met + 1));
  met_.assign(slots, {kNotMet, 0});
  const int shift = 32 - std::countr_zero(slots);
  for (const List& list : lists_) {
    for (const std::uint32_t* row = list.next; row != list.end; ++row) {
      if (*row < piece.begin || *row >= piece.end) {
        in.run->tables.front().check_row(*row);
        continue;  // out of order: only a damaged file has it
      }
      constexpr std::uint32_t kGolden = 0x9E3779B1;  // of 2^32, so that near rows lie apart
      std::size_t slot = shift < 32 ? *row * kGolden >> shift : 0;
      while (met_[slot].row != *row && met_[slot].row != kNotMet) slot = (slot + 1) % slots;
      met_[slot].row = *row;
      const auto before = static_cast<int>(met_[slot].score);
      met_[slot].score += list.weight;
      shorten(*row, before, before + list.weight, asking, in, monitor);
    }
  }
  verify_short_list(asking, in, monitor);
}

// A row gets on the short list when its score reaches the threshold: once.
void EwhLookup::shorten(std::uint32_t row, int before, int after, const EwhAsking& asking,
                        const EwhRows& in, const Monitor& monitor) {
  const int threshold = in.run->shape.threshold;
  if (before >= threshold || after < threshold) return;
  short_list_.push_back(row);
  if (short_list_.size() == kVerifiedRows) verify_short_list(asking, in, monitor);
}

void EwhLookup::verify_short_list(const EwhAsking& asking, const EwhRows& in,
                                  const Monitor& monitor) {
  monitor.check();
  if (!in.live.empty()) {
    std::erase_if(short_list_,
                  [&](std::uint32_t row) { return !bit_of(in.live, in.run->rows.begin + row); });
  }
  const std::int64_t bytes = row_bytes(in.rows.dtype(), in.rows.cols());
  std::memcpy(query_.data(), asking.query, static_cast<std::size_t>(bytes));
  differing_.resize(kVerifiedRows);
  for (std::size_t first = 0; first < short_list_.size(); first += kVerifiedRows) {
    const std::size_t count = std::min(kVerifiedRows, short_list_.size() - first);
    const std::span<const std::uint32_t> picks = std::span(short_list_).subspan(first, count);
    for (const std::uint32_t row : picks) {
      __builtin_prefetch(in.rows.row(row));
      __builtin_prefetch(in.rows.row(row) + bytes - 1);
    }
    bits_.count_picked({.query = query_.data(),
                        .rows = in.rows.row(0),
                        .stride = in.rows.stride_bytes(),
                        .bytes = bytes,
                        .picks = picks.data(),
                        .count = static_cast<std::int64_t>(count),
                        .differing = differing_.data()});
    const double limit = asking.goal->limit();
    for (std::size_t i = 0; i < count; ++i) {
      if (differing_[i] <= limit) asking.goal->take(picks[i], differing_[i]);
    }
  }
  verified_ += std::ssize(short_list_);
  short_list_.clear();
}

}  // namespace nearfield
