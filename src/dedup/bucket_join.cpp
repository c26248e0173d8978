#include "dedup/bucket_join.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "core/checked.hpp"
#include "core/tasks.hpp"
#include "dedup/join_plan.hpp"
#include "dedup/join_tuning.hpp"
#include "filter/bits/bit_kernel.hpp"

namespace nearfield {
namespace {

// Codes that ask at once. What they find has room for all rows of a piece.
constexpr std::int64_t kAsking = 2 * kBlockRows;

constexpr std::int64_t kPlacesBetweenChecks = 1 << 16;

// A bucket is compared in pieces of so many rows, 256 KiB of wide codes at most.
std::int64_t piece_rows(std::int64_t words) {
  constexpr std::int64_t kMostRows = 1024;
  constexpr std::int64_t kMostWords = 1 << 16;
  return std::clamp(kMostWords / std::max<std::int64_t>(words, 1) / kBlockRows * kBlockRows,
                    kBlockRows, kMostRows);
}

// Compares the codes of one piece of a bucket with others. One a thread.
class PieceJoin {
 public:
  PieceJoin(const BucketOrder& order, const TableJoin& join, DisjointSets& sets,
            const Monitor& monitor)
      : order_(order),
        kernel_(bit_kernel(join.isa)),
        sets_(sets),
        monitor_(monitor),
        room_(piece_rows(order.words()) + kBlockRows),
        blocks_(piece_rows(order.words()) * order.words()),
        asking_(kAsking * order.words()),
        found_rows_(kAsking * room_),
        found_counts_(kAsking * room_) {
    below_.fill(static_cast<std::int32_t>(join.radius + 1));
  }

  static std::int64_t bytes(std::int64_t words) {
    const std::int64_t rows = piece_rows(words);
    return 4 * (rows * words + kAsking * words + 2 * kAsking * (rows + kBlockRows));
  }

  // What follows is about this one. All places are in one bucket.
  void take(Range piece) {
    piece_ = piece;
    loaded_ = false;
    group_ = piece.size() >= join_tuning().group ? group_of(piece) : std::nullopt;
  }

  // Each pair once: codes ask only from their own block on.
  void join_within() {
    if (group_ || piece_.size() < 2) return;
    for (std::int64_t first = 0; first < piece_.size(); first += kAsking) {
      const std::int64_t end = std::min(first + kAsking, piece_.size());
      for (std::int64_t i = first; i < end; ++i) add(piece_.begin + i);
      ask(first);
    }
  }

  // With all of them, of which none is in the piece.
  void join_with(Range places) {
    for (std::int64_t place = places.begin; place < places.end; ++place) {
      if (place % kPlacesBetweenChecks == 0) monitor_.check();  // they may all be of the group
      if (group_ && sets_.first_of(order_.row_at(place)) == *group_) continue;
      add(place);
      if (count_ == kAsking) ask({});
    }
  }

  void finish() {
    if (count_ > 0) ask({});
  }

  const JoinCounts& counts() const { return counts_; }

 private:
  std::optional<std::uint32_t> group_of(Range places) const {
    const std::uint32_t first = sets_.first_of(order_.row_at(places.begin));
    for (std::int64_t place = places.begin + 1; place < places.end; ++place) {
      if (sets_.first_of(order_.row_at(place)) != first) return std::nullopt;
    }
    return first;
  }

  void add(std::int64_t place) {
    std::copy_n(order_.words_at(place), order_.words(), &asking_[count_ * order_.words()]);
    asking_rows_[static_cast<std::size_t>(count_++)] = order_.row_at(place);
  }

  void load() {
    const std::int64_t bytes = order_.words() * static_cast<std::int64_t>(sizeof(std::uint32_t));
    kernel_.interleave({.first = reinterpret_cast<const std::byte*>(order_.words_at(piece_.begin)),
                        .stride = bytes,
                        .bytes = bytes,
                        .count = piece_.size()},
                       blocks_.data());
    loaded_ = true;
  }

  // own: if those that ask are rows of the piece, the first of them, of a block.
  void ask(std::optional<std::int64_t> own) {
    monitor_.check();
    if (!loaded_) load();
    found_.fill(0);
    const std::int64_t first_row = own.value_or(0);
    kernel_.find({.queries = asking_.data(),
                  .query_count = count_,
                  .blocks = &blocks_[first_row * order_.words()],
                  .block_count = divide_up(piece_.size() - first_row, kBlockRows),
                  .words = order_.words(),
                  .below = below_.data(),
                  .first_row = static_cast<std::uint32_t>(first_row),
                  .found_rows = found_rows_.data(),
                  .found_counts = found_counts_.data(),
                  .room = room_,
                  .found = found_.data()});
    for (std::int64_t i = 0; i < count_; ++i) join_found(i, own ? *own + i : -1);
    if (group_) group_ = sets_.first_of(*group_);  // it may have been joined with another
    counts_.compared += count_ * (piece_.size() - first_row);
    count_ = 0;
  }

  // Rows of the piece behind `last`; what fills up the last block is none of it.
  void join_found(std::int64_t asking, std::int64_t last) {
    const std::uint32_t* const found = &found_rows_[asking * room_];
    for (std::int64_t i = 0; i < found_[static_cast<std::size_t>(asking)]; ++i) {
      if (found[i] <= last || found[i] >= piece_.size()) continue;
      sets_.join(asking_rows_[static_cast<std::size_t>(asking)],
                 order_.row_at(piece_.begin + found[i]));
      ++counts_.near;
    }
  }

  const BucketOrder& order_;
  const BitKernel& kernel_;
  DisjointSets& sets_;
  const Monitor& monitor_;
  std::int64_t room_;
  Range piece_;
  bool loaded_ = false;
  std::optional<std::uint32_t> group_;  // of all rows of the piece, if it is one
  AlignedArray<std::uint32_t> blocks_;  // the piece
  AlignedArray<std::uint32_t> asking_;  // codes
  std::array<std::uint32_t, kAsking> asking_rows_{};
  std::int64_t count_ = 0;
  std::array<std::int32_t, kAsking> below_{};
  std::array<std::int64_t, kAsking> found_{};
  AlignedArray<std::uint32_t> found_rows_;
  AlignedArray<std::int32_t> found_counts_;
  JoinCounts counts_;
};

class BucketJoin {
 public:
  BucketJoin(BucketOrder& order, const TableJoin& join, DisjointSets& sets, Monitor& monitor)
      : order_(order),
        join_(join),
        sets_(sets),
        monitor_(monitor),
        piece_rows_(piece_rows(order.words())),
        differences_(bucket_differences(join.bits, join.differing)),
        workers_(static_cast<std::size_t>(join.threads)) {}

  // A cluster of codes that differ a little would be compared each with each, in every table. So
  // some rows of a crowded bucket, taken evenly, are compared with all others of it, and rows are
  // sorted by group: then most pieces are of one group, with which nobody of it is compared.
  void thin_out() {
    const std::vector<std::uint32_t> crowded = crowded_buckets();
    if (crowded.empty()) return;
    for_each(crowded, [&](std::uint32_t bucket) { order_.bring_some_first(bucket, piece_rows_); });
    for_pieces([&](PieceJoin& worker, std::uint32_t bucket, Range piece) {
      if (!is_crowded(bucket)) return;
      const std::int64_t begin = order_.of(bucket).begin;
      const std::int64_t end = begin + piece_rows_;
      worker.take({begin, end});
      if (piece.begin == begin) worker.join_within();
      worker.join_with({std::max(piece.begin, end), std::max(piece.end, end)});
      worker.finish();
    });
    for_each(crowded, [&](std::uint32_t bucket) { order_.sort_by_group(bucket, sets_); });
  }

  void run() {
    for_pieces([&](PieceJoin& worker, std::uint32_t bucket, Range piece) {
      worker.take(piece);
      worker.join_within();
      worker.join_with({order_.of(bucket).begin, piece.begin});
      for (const std::uint32_t difference : differences_) {
        const std::uint32_t other = bucket ^ difference;
        if (other < bucket) worker.join_with(order_.of(other));
      }
      worker.finish();
      monitor_.advance(piece.size());
    });
  }

  JoinCounts counts() const {
    JoinCounts all;
    for (const auto& worker : workers_) {
      if (!worker) continue;
      all.compared += worker->counts().compared;
      all.near += worker->counts().near;
    }
    return all;
  }

 private:
  bool is_crowded(std::uint32_t bucket) const {
    return order_.of(bucket).size() > join_tuning().crowded * piece_rows_;
  }

  // They hold at least so many places, so that one is found every so many.
  std::vector<std::uint32_t> crowded_buckets() const {
    std::vector<std::uint32_t> crowded;
    for (std::int64_t place = 0; place < order_.size(); place += piece_rows_) {
      const std::uint32_t bucket = order_.bucket_at(place);
      if (is_crowded(bucket) && (crowded.empty() || crowded.back() != bucket)) {
        crowded.push_back(bucket);
      }
    }
    return crowded;
  }

  template <class Use>
  void for_each(const std::vector<std::uint32_t>& buckets, const Use& use) {
    run_tasks(std::ssize(buckets), join_.threads, [&](std::int64_t task, int) {
      monitor_.check();
      use(buckets[static_cast<std::size_t>(task)]);
    });
  }

  // Calls use(worker, bucket, places): as many places a task, whatever buckets they are of.
  template <class Use>
  void for_pieces(const Use& use) {
    const std::int64_t places = order_.size();
    run_tasks(divide_up(places, piece_rows_), join_.threads, [&](std::int64_t task, int number) {
      auto& worker = workers_[static_cast<std::size_t>(number)];
      if (!worker) worker = std::make_unique<PieceJoin>(order_, join_, sets_, monitor_);
      const std::int64_t end = std::min((task + 1) * piece_rows_, places);
      std::int64_t begin = task * piece_rows_;
      for (std::uint32_t bucket = order_.bucket_at(begin); begin < end; ++bucket) {
        const std::int64_t stop = std::min(order_.of(bucket).end, end);
        if (begin < stop) use(*worker, bucket, Range{begin, stop});
        begin = stop;
      }
    });
  }

  BucketOrder& order_;
  const TableJoin& join_;
  DisjointSets& sets_;
  Monitor& monitor_;
  std::int64_t piece_rows_;
  std::vector<std::uint32_t> differences_;
  std::vector<std::unique_ptr<PieceJoin>> workers_;
};

}  // namespace

JoinCounts join_buckets(BucketOrder& order, const TableJoin& join, DisjointSets& sets,
                        Monitor& monitor) {
  BucketJoin buckets(order, join, sets, monitor);
  buckets.thin_out();
  buckets.run();
  return buckets.counts();
}

std::int64_t bytes_to_join_buckets(std::int64_t cols) {
  return PieceJoin::bytes(divide_up(cols, kWordBits));
}

}  // namespace nearfield
