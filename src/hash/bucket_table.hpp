// Rows sorted into buckets by their hashes: what all indexes by hashing find rows in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"

namespace nearfield {

inline std::int64_t bucket_starts(int bits) { return (std::int64_t{1} << bits) + 1; }

// The rows of bucket i are those from starts[i] to starts[i + 1], rising. So it lies in memory and
// in a file, which is not to be trusted: what is read is checked as it is read.
class BucketView {
 public:
  BucketView() = default;
  // starts: bucket_starts of a number of bits.
  BucketView(std::span<const std::uint32_t> starts, std::span<const std::uint32_t> rows)
      : starts_(starts), rows_(rows) {}

  // So that `of` need not wait for it.
  void prefetch(std::uint32_t bucket) const { __builtin_prefetch(&starts_[bucket]); }

  // Of a bucket that there is. Throws corrupt_file. Rows may be any numbers: see check_row.
  std::span<const std::uint32_t> of(std::uint32_t bucket) const {
    const std::uint32_t begin = starts_[bucket];
    const std::uint32_t end = starts_[bucket + std::size_t{1}];
    if (begin > end || end > rows_.size()) fail_bucket(bucket, begin, end);
    return rows_.subspan(begin, end - begin);
  }

  // What every row that was found must pass before it is looked at.
  void check_row(std::uint32_t row) const {
    if (row >= rows_.size()) fail_row(row);
  }

  std::span<const std::uint32_t> starts() const { return starts_; }
  std::span<const std::uint32_t> rows() const { return rows_; }

 private:
  [[noreturn]] void fail_bucket(std::uint32_t bucket, std::uint32_t begin, std::uint32_t end) const;
  [[noreturn]] void fail_row(std::uint32_t row) const;

  std::span<const std::uint32_t> starts_;
  std::span<const std::uint32_t> rows_;
};

// In memory.
class BucketTable {
 public:
  // buckets: of each row, all below 2^bits. The same for any number of threads: no bucket's rows
  // can lie otherwise.
  BucketTable(std::span<const std::uint32_t> buckets, int bits, int threads,
              const Monitor& monitor);

  // Made by somebody else, who writes what a view shows.
  BucketTable(std::int64_t rows, int bits,
              const std::function<void(std::uint32_t* starts, std::uint32_t* rows)>& fill);
  // Of rows that follow each other: each of the tables, of as many buckets, has some of them,
  // counted from its first.
  explicit BucketTable(std::span<const BucketTable> pieces);

  static std::int64_t bytes_for(std::int64_t rows, int bits);
  // Beside that, while it is made.
  static std::int64_t bytes_to_make(std::int64_t rows, int bits, int threads);

  BucketView view() const {
    return {{starts_.data(), static_cast<std::size_t>(start_count_)},
            {rows_.data(), static_cast<std::size_t>(row_count_)}};
  }

 private:
  static std::int64_t rows_of_all(std::span<const BucketTable> pieces);

  std::int64_t start_count_;
  std::int64_t row_count_;
  AlignedArray<std::uint32_t> starts_;
  AlignedArray<std::uint32_t> rows_;
};

}  // namespace nearfield
