#include "hash/bucket_table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// Rows are first dealt into this many ranges of buckets, each of which is then sorted in a cache:
// 2^23 buckets make 2^13 a range, 32 KiB of places. Filled in one pass, every row of 10,000,000
// would miss it.
constexpr int kRangeBits = 10;

// Dealt by one task, which takes milliseconds: it looks at its end whether it is to stop.
constexpr std::int64_t kLeastChunk = 1 << 16;
constexpr std::int64_t kMostChunk = 1 << 22;

// A range may hold nearly all rows.
constexpr std::int64_t kEntriesBetweenChecks = 1 << 20;

struct Entry {
  std::uint32_t bucket;
  std::uint32_t row;
};

// Count, prefix sum, fill: of ranges first, then of the buckets of each.
class Dealing {
 public:
  Dealing(std::span<const std::uint32_t> buckets, int bits, int threads, const Monitor& monitor)
      : buckets_(buckets),
        low_bits_(std::max(bits - kRangeBits, 0)),
        ranges_(std::int64_t{1} << std::min(bits, kRangeBits)),
        chunks_(chunks_of(std::ssize(buckets), threads)),
        threads_(threads),
        monitor_(monitor),
        begins_(static_cast<std::size_t>(chunks_ * ranges_)),
        ends_(static_cast<std::size_t>(ranges_)),
        entries_(std::ssize(buckets)) {}

  static std::int64_t chunks_of(std::int64_t rows, int threads) {
    return std::max(std::clamp<std::int64_t>(rows / kLeastChunk, 1, 4 * threads),
                    divide_up(rows, kMostChunk));
  }

  void deal() {
    run_tasks(chunks_, threads_, [&](std::int64_t chunk, int) { count(chunk); });
    sum();
    run_tasks(chunks_, threads_, [&](std::int64_t chunk, int) { place(chunk); });
  }

  void fill(std::uint32_t* starts, std::uint32_t* rows) const {
    run_tasks(ranges_, threads_, [&](std::int64_t range, int) { fill_range(range, starts, rows); });
    starts[ranges_ << low_bits_] = static_cast<std::uint32_t>(buckets_.size());
  }

 private:
  std::int64_t begin_of(std::int64_t chunk) const { return std::ssize(buckets_) * chunk / chunks_; }
  std::uint32_t* begins_of(std::int64_t chunk) {
    return begins_.data() + static_cast<std::size_t>(chunk * ranges_);
  }

  void count(std::int64_t chunk) {
    std::uint32_t* const counts = begins_of(chunk);
    for (std::int64_t row = begin_of(chunk); row < begin_of(chunk + 1); ++row) {
      ++counts[buckets_[static_cast<std::size_t>(row)] >> low_bits_];
    }
    monitor_.check();
  }

  // Range by range, and within it chunk by chunk: so that rows rise.
  void sum() {
    std::uint32_t total = 0;
    for (std::int64_t range = 0; range < ranges_; ++range) {
      for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
        std::uint32_t& begin = begins_of(chunk)[range];
        total += std::exchange(begin, total);
      }
      ends_[static_cast<std::size_t>(range)] = total;
    }
  }

  void place(std::int64_t chunk) {
    std::uint32_t* const next = begins_of(chunk);
    for (std::int64_t row = begin_of(chunk); row < begin_of(chunk + 1); ++row) {
      const std::uint32_t bucket = buckets_[static_cast<std::size_t>(row)];
      entries_[next[bucket >> low_bits_]++] = {bucket, static_cast<std::uint32_t>(row)};
    }
    monitor_.check();
  }

  template <class Use>
  void for_entries(std::int64_t begin, std::int64_t end, const Use& use) const {
    for (std::int64_t i = begin; i < end;) {
      monitor_.check();
      const std::int64_t stop = std::min(end, i + kEntriesBetweenChecks);
      for (; i < stop; ++i) use(entries_[i]);
    }
  }

  void fill_range(std::int64_t range, std::uint32_t* starts, std::uint32_t* rows) const {
    const std::uint32_t begin = range > 0 ? ends_[static_cast<std::size_t>(range - 1)] : 0;
    const std::uint32_t end = ends_[static_cast<std::size_t>(range)];
    const std::int64_t first = range << low_bits_;
    std::vector<std::uint32_t> next(std::size_t{1} << low_bits_);
    for_entries(begin, end, [&](const Entry& entry) {
      ++next[static_cast<std::size_t>(entry.bucket - first)];
    });
    std::uint32_t total = begin;
    for (std::size_t bucket = 0; bucket < next.size(); ++bucket) {
      starts[first + static_cast<std::int64_t>(bucket)] = total;
      total += std::exchange(next[bucket], total);
    }
    for_entries(begin, end, [&](const Entry& entry) {
      rows[next[static_cast<std::size_t>(entry.bucket - first)]++] = entry.row;
    });
  }

  std::span<const std::uint32_t> buckets_;
  int low_bits_;
  std::int64_t ranges_;
  std::int64_t chunks_;
  int threads_;
  const Monitor& monitor_;
  std::vector<std::uint32_t> begins_;  // of a chunk's rows in each range: counts at first
  std::vector<std::uint32_t> ends_;    // of the ranges
  AlignedArray<Entry> entries_;        // range by range
};

}  // namespace

void BucketView::fail_bucket(std::uint32_t bucket, std::uint32_t begin, std::uint32_t end) const {
  fail(ErrorCode::corrupt_file, "bucket {} has rows {} to {} of {}: build the index again", bucket,
       begin, end, rows_.size());
}

void BucketView::fail_row(std::uint32_t row) const {
  fail(ErrorCode::corrupt_file, "a bucket holds row {} of {}: build the index again", row,
       rows_.size());
}

BucketTable::BucketTable(std::span<const std::uint32_t> buckets, int bits, int threads,
                         const Monitor& monitor)
    : start_count_(bucket_starts(bits)),
      row_count_(std::ssize(buckets)),
      starts_(start_count_),
      rows_(row_count_) {
  Dealing dealing(buckets, bits, threads, monitor);
  dealing.deal();
  dealing.fill(starts_.data(), rows_.data());
}

BucketTable::BucketTable(
    std::int64_t rows, int bits,
    const std::function<void(std::uint32_t* starts, std::uint32_t* rows)>& fill)
    : start_count_(bucket_starts(bits)),
      row_count_(rows),
      starts_(start_count_),
      rows_(row_count_) {
  fill(starts_.data(), rows_.data());
}

BucketTable::BucketTable(std::span<const BucketTable> pieces)
    : start_count_(pieces.front().start_count_),
      row_count_(rows_of_all(pieces)),
      starts_(start_count_),
      rows_(row_count_) {
  std::uint32_t* next = rows_.data();
  for (std::int64_t bucket = 0; bucket + 1 < start_count_; ++bucket) {
    starts_[bucket] = static_cast<std::uint32_t>(next - rows_.data());
    std::uint32_t first = 0;
    for (const BucketTable& piece : pieces) {
      for (const std::uint32_t row : piece.view().of(static_cast<std::uint32_t>(bucket))) {
        *next++ = first + row;
      }
      first += static_cast<std::uint32_t>(piece.row_count_);
    }
  }
  starts_[start_count_ - 1] = static_cast<std::uint32_t>(row_count_);
}

std::int64_t BucketTable::rows_of_all(std::span<const BucketTable> pieces) {
  std::int64_t rows = 0;
  for (const BucketTable& piece : pieces) rows += piece.row_count_;
  return rows;
}

std::int64_t BucketTable::bytes_for(std::int64_t rows, int bits) {
  return static_cast<std::int64_t>(sizeof(std::uint32_t)) * (bucket_starts(bits) + rows);
}

std::int64_t BucketTable::bytes_to_make(std::int64_t rows, int bits, int threads) {
  const std::int64_t ranges = std::int64_t{1} << std::min(bits, kRangeBits);
  const std::int64_t words =
      (Dealing::chunks_of(rows, threads) + 1) * ranges + threads * (bucket_starts(bits) / ranges);
  return rows * static_cast<std::int64_t>(sizeof(Entry)) +
         words * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

}  // namespace nearfield
