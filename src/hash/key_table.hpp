// Rows by hashes of up to 64 bits, more than a table has buckets for: folded into buckets, or
// sorted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "hash/bucket_table.hpp"

namespace nearfield {

// Where the rows of a key are: `count` of them from `begin` on.
struct KeyPlace {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

// As it lies in memory and in a file, which is not to be trusted: what is read is checked.
class KeyTableView {
 public:
  KeyTableView() = default;
  // A bucket has the rows of all keys that are folded into it.
  KeyTableView(BucketView buckets, int key_bits, int bucket_bits)
      : buckets_(buckets), key_bits_(key_bits), bucket_bits_(bucket_bits) {}
  // keys: rising, one for each of the rows.
  KeyTableView(std::span<const std::uint64_t> keys, std::span<const std::uint32_t> rows)
      : keys_(keys), buckets_({}, rows), sorted_(true) {}

  // Of each of the keys. Folded ones are asked for many at a time, since it is memory they wait
  // for; sorted ones one by one, each from where the one before it was if those rise.
  void find(std::span<const std::uint64_t> keys, std::span<KeyPlace> places) const;

  bool sorted() const { return sorted_; }
  std::span<const std::uint64_t> keys() const { return keys_; }  // if sorted
  const BucketView& buckets() const { return buckets_; }
  std::span<const std::uint32_t> rows() const { return buckets_.rows(); }
  std::span<const std::uint32_t> rows_of(KeyPlace place) const {
    return rows().subspan(place.begin, place.count);
  }
  std::int64_t bytes() const;

 private:
  std::uint32_t bucket_of(std::uint64_t key) const;

  std::span<const std::uint64_t> keys_;
  BucketView buckets_;
  int key_bits_ = 0;
  int bucket_bits_ = 0;
  bool sorted_ = false;
};

// The buckets of a table over so many rows whose keys have so many bits: about one a row, at most.
int folded_bits(std::int64_t rows, int key_bits);
// Which of them a key is in.
std::uint32_t folded_bucket(std::uint64_t key, int key_bits, int bucket_bits);

// In memory.
class KeyTable {
 public:
  // keys: of each row, below 2^key_bits. The same for any number of threads.
  static KeyTable folded(std::span<const std::uint64_t> keys, int key_bits, int threads,
                         const Monitor& monitor);
  static KeyTable sorted(std::span<const std::uint64_t> keys, int key_bits, int threads,
                         const Monitor& monitor);

  KeyTableView view() const { return view_; }

  static std::int64_t bytes_for(std::int64_t rows, int key_bits, bool sorted);
  // Beside that and the keys, while it is made.
  static std::int64_t bytes_to_make(std::int64_t rows, int key_bits, bool sorted, int threads);

 private:
  std::optional<BucketTable> buckets_;
  AlignedArray<std::uint64_t> keys_;
  AlignedArray<std::uint32_t> rows_;
  KeyTableView view_;
};

}  // namespace nearfield
