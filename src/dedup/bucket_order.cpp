#include "dedup/bucket_order.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/tasks.hpp"
#include "filter/bits/bit_kernel.hpp"
#include "hash/substrings.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kCopiedRows = 1 << 14;

// Rows lie anywhere: asked for so many before they are copied.
constexpr std::int64_t kCopyAhead = 16;

BucketTable table_of(MatrixView codes, std::span<const std::uint32_t> rows,
                     std::span<const std::uint32_t> positions, int threads,
                     const Monitor& monitor) {
  AlignedArray<std::uint32_t> buckets(codes.rows());
  hash_rows(codes, positions, buckets.data(), threads, monitor);
  // Rows rise: what is written was read.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    buckets[static_cast<std::int64_t>(i)] = buckets[rows[i]];
  }
  return {{buckets.data(), rows.size()}, static_cast<int>(positions.size()), threads, monitor};
}

}  // namespace

BucketOrder::BucketOrder(MatrixView codes, std::span<const std::uint32_t> rows,
                         std::span<const std::uint32_t> positions, int threads,
                         const Monitor& monitor)
    : codes_(codes),
      size_(std::ssize(rows)),
      width_(divide_up(codes.cols(), kWordBits)),
      table_(table_of(codes, rows, positions, threads, monitor)),
      rows_(size_),
      words_(size_ * width_) {
  run_tasks(divide_up(size_, kCopiedRows), threads, [&](std::int64_t task, int) {
    monitor.check();
    const Range places{task * kCopiedRows, std::min((task + 1) * kCopiedRows, size_)};
    for (std::int64_t place = places.begin; place < places.end; ++place) {
      rows_[place] = rows[table_.view().rows()[static_cast<std::size_t>(place)]];
    }
    copy(places);
  });
}

std::int64_t BucketOrder::bytes_for(std::int64_t all_rows, std::int64_t rows, std::int64_t cols,
                                    int bits, int threads) {
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::uint32_t));
  const std::int64_t making = all_rows * kWord + BucketTable::bytes_to_make(rows, bits, threads);
  const std::int64_t sorting = rows * 4 * kWord;  // twice two, of a bucket with nearly all
  const std::int64_t copied = rows * kWord * (1 + divide_up(cols, kWordBits)) + sorting;
  return BucketTable::bytes_for(rows, bits) + std::max(making, copied);
}

std::uint32_t BucketOrder::bucket_at(std::int64_t place) const {
  const std::span<const std::uint32_t> starts = table_.view().starts();
  const auto next = std::ranges::upper_bound(starts, static_cast<std::uint32_t>(place));
  return static_cast<std::uint32_t>(next - starts.begin() - 1);
}

void BucketOrder::bring_some_first(std::uint32_t bucket, std::int64_t count) {
  const Range places = of(bucket);
  for (std::int64_t i = 0; i < count; ++i) {
    std::swap(rows_[places.begin + i], rows_[places.begin + i * places.size() / count]);
  }
  copy(places);
}

void BucketOrder::sort_by_group(std::uint32_t bucket, DisjointSets& sets) {
  const Range places = of(bucket);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> keyed;  // by group
  keyed.reserve(static_cast<std::size_t>(places.size()));
  for (std::int64_t place = places.begin; place < places.end; ++place) {
    keyed.emplace_back(sets.first_of(rows_[place]), rows_[place]);
  }
  std::ranges::sort(keyed);
  // Then by its size, counted down.
  for (auto begin = keyed.begin(); begin != keyed.end();) {
    const auto end = std::find_if(begin, keyed.end(),
                                  [&](const auto& other) { return other.first != begin->first; });
    const auto size = static_cast<std::uint32_t>(end - begin);
    for (; begin != end; ++begin) begin->first = ~size;
  }
  std::ranges::stable_sort(keyed, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
  for (std::int64_t i = 0; i < places.size(); ++i) {
    rows_[places.begin + i] = keyed[static_cast<std::size_t>(i)].second;
  }
  copy(places);
}

void BucketOrder::copy(Range places) {
  const auto bytes = static_cast<std::size_t>(row_bytes(codes_.dtype(), codes_.cols()));
  for (std::int64_t place = places.begin; place < places.end; ++place) {
    if (place + kCopyAhead < places.end) {
      __builtin_prefetch(codes_.row(rows_[place + kCopyAhead]));
    }
    std::uint32_t* const words = &words_[place * width_];
    words[width_ - 1] = 0;
    std::memcpy(words, codes_.row(rows_[place]), bytes);
  }
}

}  // namespace nearfield
