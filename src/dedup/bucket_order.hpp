// Codes of a table, copied in the order of their buckets.
#pragma once

#include <cstdint>
#include <span>

#include <nearfield/matrix.hpp>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "dedup/disjoint_sets.hpp"
#include "filter/filter.hpp"
#include "hash/bucket_table.hpp"

namespace nearfield {

class BucketOrder {
 public:
  // Of some rows, by the bits at these positions.
  BucketOrder(MatrixView codes, std::span<const std::uint32_t> rows,
              std::span<const std::uint32_t> positions, int threads, const Monitor& monitor);

  static std::int64_t bytes_for(std::int64_t all_rows, std::int64_t rows, std::int64_t cols,
                                int bits, int threads);

  // Codes have places; those of a bucket lie behind each other.
  Range of(std::uint32_t bucket) const {
    const std::span<const std::uint32_t> starts = table_.view().starts();
    return {starts[bucket], starts[bucket + std::size_t{1}]};
  }
  std::uint32_t bucket_at(std::int64_t place) const;
  std::int64_t size() const { return size_; }

  std::uint32_t row_at(std::int64_t place) const { return rows_[place]; }
  // Filled up with zeros.
  const std::uint32_t* words_at(std::int64_t place) const { return &words_[place * width_]; }
  std::int64_t words() const { return width_; }

  // Within a bucket that has more: so many of its rows, at even distances.
  void bring_some_first(std::uint32_t bucket, std::int64_t count);

  // Within a bucket, so that those of one group lie together, the largest group first.
  void sort_by_group(std::uint32_t bucket, DisjointSets& sets);

 private:
  void copy(Range places);

  MatrixView codes_;
  std::int64_t size_;
  std::int64_t width_;
  BucketTable table_;
  AlignedArray<std::uint32_t> rows_;
  AlignedArray<std::uint32_t> words_;
};

}  // namespace nearfield
