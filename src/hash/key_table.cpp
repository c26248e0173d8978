#include "hash/key_table.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "core/tasks.hpp"

namespace nearfield {
namespace {

// 2^28 starts take 1 GiB.
constexpr int kMostFoldedBits = 28;

constexpr std::size_t kPlacesAhead = 16;

struct KeyedRow {
  std::uint64_t key;
  std::uint32_t row;

  friend bool operator<(const KeyedRow& a, const KeyedRow& b) {
    return a.key < b.key || (a.key == b.key && a.row < b.row);
  }
};

// By their first bits, so that the parts can be sorted side by side.
int part_bits(std::int64_t rows, int key_bits) { return std::min(folded_bits(rows, key_bits), 10); }

}  // namespace

int folded_bits(std::int64_t rows, int key_bits) {
  const auto by_rows = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));
  return std::clamp(std::min(by_rows, key_bits), 1, kMostFoldedBits);
}

std::uint32_t folded_bucket(std::uint64_t key, int key_bits, int bucket_bits) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio, odd
  if (key_bits <= bucket_bits) return static_cast<std::uint32_t>(key);
  return static_cast<std::uint32_t>((key ^ key >> 32) * kGolden >> (64 - bucket_bits));
}

std::uint32_t KeyTableView::bucket_of(std::uint64_t key) const {
  return folded_bucket(key, key_bits_, bucket_bits_);
}

void KeyTableView::find(std::span<const std::uint64_t> keys, std::span<KeyPlace> places) const {
  if (sorted_) {
    auto from = keys_.begin();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i == 0 || keys[i] < keys[i - 1]) from = keys_.begin();
      from = std::lower_bound(from, keys_.end(), keys[i]);
      const auto end = std::upper_bound(from, keys_.end(), keys[i]);
      places[i] = {static_cast<std::uint32_t>(from - keys_.begin()),
                   static_cast<std::uint32_t>(end - from)};
    }
    return;
  }
  for (std::size_t i = 0; i < std::min(kPlacesAhead, keys.size()); ++i) {
    buckets_.prefetch(bucket_of(keys[i]));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + kPlacesAhead < keys.size()) buckets_.prefetch(bucket_of(keys[i + kPlacesAhead]));
    const std::span<const std::uint32_t> found = buckets_.of(bucket_of(keys[i]));
    places[i] = {static_cast<std::uint32_t>(found.data() - rows().data()),
                 static_cast<std::uint32_t>(found.size())};
  }
}

std::int64_t KeyTableView::bytes() const {
  return static_cast<std::int64_t>(keys_.size_bytes() + buckets_.starts().size_bytes() +
                                   rows().size_bytes());
}

KeyTable KeyTable::folded(std::span<const std::uint64_t> keys, int key_bits, int threads,
                          const Monitor& monitor) {
  const int bits = folded_bits(std::ssize(keys), key_bits);
  AlignedArray<std::uint32_t> buckets(std::ssize(keys));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    buckets.data()[i] = folded_bucket(keys[i], key_bits, bits);
  }
  KeyTable table;
  table.buckets_.emplace(std::span<const std::uint32_t>(buckets.data(), keys.size()), bits, threads,
                         monitor);
  table.view_ = {table.buckets_->view(), key_bits, bits};
  return table;
}

KeyTable KeyTable::sorted(std::span<const std::uint64_t> keys, int key_bits, int threads,
                          const Monitor& monitor) {
  const std::int64_t count = std::ssize(keys);
  const int bits = part_bits(count, key_bits);
  AlignedArray<std::uint32_t> parts(count);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    parts.data()[i] = static_cast<std::uint32_t>(keys[i] >> (key_bits - bits));
  }
  const BucketTable dealt({parts.data(), keys.size()}, bits, threads, monitor);
  KeyTable table;
  table.keys_ = AlignedArray<std::uint64_t>(count);
  table.rows_ = AlignedArray<std::uint32_t>(count);
  run_tasks(std::int64_t{1} << bits, threads, [&](std::int64_t part, int) {
    monitor.check();
    const std::span<const std::uint32_t> rows = dealt.view().of(static_cast<std::uint32_t>(part));
    std::vector<KeyedRow> sorted;
    sorted.reserve(rows.size());
    for (const std::uint32_t row : rows) sorted.push_back({keys[row], row});
    std::ranges::sort(sorted, std::less<>());
    std::int64_t to = rows.data() - dealt.view().rows().data();
    for (const KeyedRow& keyed : sorted) {
      table.keys_[to] = keyed.key;
      table.rows_[to++] = keyed.row;
    }
  });
  table.view_ = {{table.keys_.data(), keys.size()}, {table.rows_.data(), keys.size()}};
  return table;
}

std::int64_t KeyTable::bytes_for(std::int64_t rows, int key_bits, bool sorted) {
  constexpr std::int64_t kSorted = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  return sorted ? kSorted * rows : BucketTable::bytes_for(rows, folded_bits(rows, key_bits));
}

std::int64_t KeyTable::bytes_to_make(std::int64_t rows, int key_bits, bool sorted, int threads) {
  const std::int64_t numbers = rows * static_cast<std::int64_t>(sizeof(std::uint32_t));
  if (!sorted) {
    return numbers + BucketTable::bytes_to_make(rows, folded_bits(rows, key_bits), threads);
  }
  // All rows may be in one part.
  return numbers + BucketTable::bytes_for(rows, part_bits(rows, key_bits)) +
         std::max(BucketTable::bytes_to_make(rows, part_bits(rows, key_bits), threads),
                  rows * static_cast<std::int64_t>(sizeof(KeyedRow)));
}

}  // namespace nearfield
