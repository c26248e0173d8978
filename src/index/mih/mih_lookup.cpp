#include "index/mih/mih_lookup.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "hash/near_buckets.hpp"
#include "hash/substrings.hpp"
#include "index/mih/mih_tuning.hpp"

namespace nearfield {
namespace {

// Asked for at a time: more than memory answers side by side, few enough to stay in L1.
constexpr std::size_t kBucketsAtOnce = 256;
constexpr std::size_t kRowsVerifiedAtOnce = 256;

void prefetch_row(const std::byte* row, std::int64_t bytes) {
  __builtin_prefetch(row);
  __builtin_prefetch(row + bytes - 1);
}

double rows_per_bucket(const MihRun& run) {
  return static_cast<double>(run.rows.size()) /
         static_cast<double>(std::int64_t{1} << run.partition.bits);
}

// Of what a bucket or a row takes that is waited for: less where a cache has them.
double pace_of(const MihRun& run) {
  const MihTuning& tuning = mih_tuning();
  const auto bytes = static_cast<double>(
      run.partition.tables * BucketTable::bytes_for(run.rows.size(), run.partition.bits));
  const double part = (bytes - tuning.cached_bytes) / (tuning.memory_bytes - tuning.cached_bytes);
  return tuning.cached + (1 - tuning.cached) * std::clamp(part, 0.0, 1.0);
}

}  // namespace

// One pair of a table and a number of bits.
struct MihLookup::Asking {
  const std::byte* query;
  const MihRows& in;
  std::int64_t table;
  int differing;
  double budget;
  const Monitor& monitor;
  SearchGoal& goal;

  const BucketView& view() const { return in.run->tables[static_cast<std::size_t>(table)]; }
};

bool MihLookup::find(const std::byte* query, const MihRows& in, double budget,
                     const Monitor& monitor, SearchGoal& goal) {
  const BitPartition& partition = in.run->partition;
  std::memcpy(query_.data(), query,
              static_cast<std::size_t>(row_bytes(DType::bits, in.rows.cols())));
  query_buckets_.resize(static_cast<std::size_t>(partition.tables));
  pace_ = pace_of(*in.run);
  spent_ = mih_tuning().query;
  for (std::int64_t step = 0; static_cast<double>(step) <= goal.limit(); ++step) {
    const std::int64_t differing = step / partition.tables;
    if (differing > partition.bits) return true;  // every bucket was asked
    const std::int64_t table = step % partition.tables;
    if (differing == 0) {  // few queries come to all tables
      query_buckets_[static_cast<std::size_t>(table)] = bucket_of(query, partition.of(table));
    }
    if (!ask({query, in, table, static_cast<int>(differing), budget, monitor, goal})) {
      return false;
    }
  }
  return true;
}

bool MihLookup::ask(const Asking& asking) {
  const BitPartition& partition = asking.in.run->partition;
  const double buckets = bit_combinations(partition.bits, asking.differing);
  const double rows = buckets * rows_per_bucket(*asking.in.run);
  spent_ += buckets * mih_tuning().lookup * pace_;
  if (spent_ + rows * mih_tuning().candidate * pace_ > asking.budget) return false;
  const std::uint32_t centre = query_buckets_[static_cast<std::size_t>(asking.table)];
  const std::uint32_t end = std::uint32_t{1} << partition.bits;
  std::array<std::uint32_t, kBucketsAtOnce> asked;
  for (std::uint32_t mask = (std::uint32_t{1} << asking.differing) - 1; mask < end;) {
    std::size_t count = 0;
    for (; mask < end && count < asked.size(); ++count) {
      asked[count] = centre ^ mask;
      asking.view().prefetch(asked[count]);
      mask = mask != 0 ? next_combination(mask) : end;
    }
    asking.monitor.check();
    collect(asking, std::span(asked).first(count));
    if (spent_ > asking.budget) return false;
  }
  return true;
}

void MihLookup::collect(const Asking& asking, std::span<const std::uint32_t> buckets) {
  full_.clear();
  std::int64_t rows = 0;
  for (const std::uint32_t bucket : buckets) {
    const std::span<const std::uint32_t> found = asking.view().of(bucket);
    if (found.empty()) continue;
    __builtin_prefetch(found.data());
    full_.push_back(found);
    rows += std::ssize(found);
  }
  spent_ += static_cast<double>(rows) * mih_tuning().candidate * pace_;
  if (spent_ > asking.budget) return;  // nobody asks for what is found
  const MatrixView all = asking.in.rows;
  const std::int64_t bytes = row_bytes(all.dtype(), all.cols());
  for (const std::span<const std::uint32_t> found : full_) {
    for (const std::uint32_t row : found) {
      asking.view().check_row(row);
      prefetch_row(all.row(row), bytes);
      picks_.push_back(row);
      if (picks_.size() == kRowsVerifiedAtOnce) verify(asking);
    }
  }
  verify(asking);
}

void MihLookup::verify(const Asking& asking) {
  asking.monitor.check();  // a bucket may hold nearly all rows
  const MatrixView rows = asking.in.rows;
  differing_.resize(picks_.size());
  kernel_.count_picked({.query = query_.data(),
                        .rows = rows.row(0),
                        .stride = rows.stride_bytes(),
                        .bytes = row_bytes(rows.dtype(), rows.cols()),
                        .picks = picks_.data(),
                        .count = std::ssize(picks_),
                        .differing = differing_.data()});
  verified_ += std::ssize(picks_);
  const double limit = asking.goal.limit();
  for (std::size_t i = 0; i < picks_.size(); ++i) {
    if (differing_[i] > limit) continue;
    const std::int64_t row = picks_[i];
    const bool live =
        asking.in.live.empty() || bit_of(asking.in.live, asking.in.run->rows.begin + row);
    if (live && !found_before(asking, row)) asking.goal.take(row, differing_[i]);
  }
  picks_.clear();
}

// By a pair that was asked earlier. Few rows are near enough to be asked about.
bool MihLookup::found_before(const Asking& asking, std::int64_t row) const {
  const BitPartition& partition = asking.in.run->partition;
  const std::byte* const values = asking.in.rows.row(row);
  for (std::int64_t table = 0; table < partition.tables; ++table) {
    const int bits = differing_bits(asking.query, values, partition.of(table));
    if (bits < asking.differing || (bits == asking.differing && table < asking.table)) return true;
  }
  return false;
}

double lookup_cost(const MihRun& run, std::int64_t bits) {
  const MihTuning& tuning = mih_tuning();
  const double of_a_bucket =
      pace_of(run) * (tuning.lookup + rows_per_bucket(run) * tuning.candidate);
  double cost = tuning.query;
  for (std::int64_t step = 0; step <= bits; ++step) {
    const std::int64_t differing = step / run.partition.tables;
    if (differing > run.partition.bits) break;
    cost += bit_combinations(run.partition.bits, differing) * of_a_bucket;
  }
  return cost;
}

double scan_cost(std::int64_t rows, std::int64_t row_bytes, std::int64_t queries) {
  const MihTuning& tuning = mih_tuning();
  const auto sharing = static_cast<double>(std::min(queries, tuning.sharing_queries));
  return tuning.scan_call / static_cast<double>(queries) +
         static_cast<double>(rows * row_bytes) * (tuning.pair_byte + tuning.read_byte / sharing);
}

}  // namespace nearfield
