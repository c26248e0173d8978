// Keeps the k first items of a stream under their total order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <nearfield/results.hpp>

#include "core/checked.hpp"
#include "select/keep_first.hpp"
#include "select/sort_items.hpp"

namespace nearfield {

// A buffer of twice k: what comes in before the threshold is appended, and when the buffer is full,
// a selection in linear time keeps the first k and lowers the threshold. So a candidate costs a
// comparison, and one that gets in a few more, for any k; and since the order is total, what is
// kept does not depend on the order of arrival. A small k has room for k, which stay sorted, and
// one that gets in moves those behind it: that takes less than a selection, the threshold is always
// the newest, and of many queries more fit into a cache.
// Item: has a key, by which it is ordered first.
template <class Item>
class TopK {
 public:
  // Takes no key above `most`.
  explicit TopK(std::int64_t k, double most = std::numeric_limits<double>::infinity())
      : k_(k), threshold_(k > 0 ? most : -std::numeric_limits<double>::infinity()) {}

  // How it keeps them, for people.
  static const char* name(std::int64_t k) {
    return k <= kMostSorted ? "sorted insertion" : "buffered selection";
  }

  // Items held at most, also while the buffer grows.
  static std::int64_t most_held(std::int64_t k) {
    return capacity(k) > kAllAtOnce ? capacity(k) + capacity(k) / 2 : capacity(k);
  }

  // A key above this can no longer get in. (One equal to it can, if the item comes first.)
  double threshold() const { return threshold_; }

  // The threshold is that of k items which are held.
  bool full() const { return full_; }

  // Asks for the memory that a candidate which gets in is likely to change.
  void prefetch() const {
    if (buffer_.empty()) return;
    __builtin_prefetch(&buffer_.back());
    __builtin_prefetch(&buffer_[buffer_.size() / 2]);
  }

  // Whether it would be kept, at least for now.
  bool takes(const Item& candidate) const {
    return candidate.key <= threshold_ && !(full_ && !(candidate < worst_));
  }

  // True if it is kept, at least for now.
  bool offer(const Item& candidate) {
    if (!takes(candidate)) return false;
    push(candidate);
    return true;
  }

  // Finds the threshold as soon as k are there, instead of at twice as many, and again when an
  // eighth of them is new: a selection then costs 9 items for each that got in.
  void settle() {
    if (full_ && sorted()) return;
    if (k_ > 0 && std::ssize(buffer_) >= k_ + (full_ ? divide_up(k_, 8) : 0)) shrink();
  }

  // The first k that were offered, sorted. Ends the stream.
  std::span<const Item> finish() {
    if (full_ && sorted()) return buffer_;
    unsorted();
    const std::size_t count = buffer_.size();
    if (buffer_.capacity() >= 2 * count) {  // nearly always where k are not kept sorted
      buffer_.resize(2 * count);
      const std::span<Item> items(buffer_);
      sort_items<double>(items.first(count), items.last(count));
      buffer_.resize(count);
    } else {
      std::sort(buffer_.begin(), buffer_.end());
    }
    return buffer_;
  }

  // The same in any order.
  std::span<const Item> unsorted() {
    if (std::ssize(buffer_) > k_) shrink();
    return buffer_;
  }

  // These and perhaps others, in any order: what is held. Ends the stream.
  std::vector<Item> take() { return std::move(buffer_); }

 private:
  // Up to this many are kept sorted. Where every item is before all others, one then takes 14 ns
  // instead of 7, and of 32 it would be 26.
  static constexpr std::int64_t kMostSorted = 16;
  // Up to this many items the buffer is there at the first: many queries of a large base end with
  // few survivors each, but nearly all have some. Beyond, it doubles: who asks for a billion pairs
  // may find three.
  static constexpr std::int64_t kAllAtOnce = 1 << 16;

  static std::int64_t capacity(std::int64_t k) { return k <= kMostSorted ? k : 2 * k; }

  void push(const Item& candidate) {
    if (k_ == 0) return;
    if (full_ && sorted()) return insert(candidate);
    if (buffer_.size() == buffer_.capacity()) grow();
    buffer_.push_back(candidate);
    if (static_cast<std::int64_t>(buffer_.size()) == capacity(k_)) shrink();
  }

  bool sorted() const { return k_ <= kMostSorted; }

  // In place of the last.
  void insert(const Item& candidate) {
    auto at = buffer_.end() - 1;
    for (; at != buffer_.begin() && candidate < at[-1]; --at) *at = at[-1];
    *at = candidate;
    worst_ = buffer_.back();
    threshold_ = worst_.key;
  }

  // To all of it where twice as much would be more than half: then at most half is there beside it.
  void grow() {
    const std::int64_t wanted = std::max(kAllAtOnce, 2 * std::ssize(buffer_));
    buffer_.reserve(static_cast<std::size_t>(wanted > capacity(k_) / 2 ? capacity(k_) : wanted));
  }

  void shrink() {
    find_first<Item>(buffer_, k_);
    buffer_.resize(static_cast<std::size_t>(k_));
    if (sorted()) std::sort(buffer_.begin(), buffer_.end());
    worst_ = buffer_.back();
    threshold_ = worst_.key;
    full_ = true;
  }

  std::int64_t k_;
  double threshold_;
  bool full_ = false;
  Item worst_{};  // of the k kept at the last selection, if there was one
  std::vector<Item> buffer_;
};

}  // namespace nearfield
