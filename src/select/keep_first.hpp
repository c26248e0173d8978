// The first k of many items, without sorting them. Item: has a key, by which it is ordered first.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace nearfield {

// From so many items on, a range from a sample leaves less to do than a pivot from five of them.
inline constexpr std::int64_t kSampleItemsFrom = 8192;
// One of so many is in the sample, and at most kMostSampled are.
inline constexpr std::int64_t kItemsPerSampled = 16;
inline constexpr std::int64_t kMostSampled = 1024;
// Standard deviations by which the k-th of all may lie off its place in the sample. One of eight
// does by more, and is looked for among all items on its side.
inline constexpr double kSampleDeviations = 1.5;

// Fewer items are left to std::nth_element, which inserts them in order; and so are those that this
// many pivots have not made few: items may be made so that each is a bad one.
inline constexpr std::int64_t kPivotItemsFrom = 8;
inline constexpr int kMostPivots = 40;

// Two numbers between which that of the k-th item is likely to be.
template <class Number>
struct LikelyRange {
  Number low;
  Number high;
};

template <class Item, class NumberOf>
auto likely_range(std::span<const Item> items, std::int64_t k, const NumberOf& number_of) {
  using Number = std::invoke_result_t<NumberOf, const Item&>;
  std::array<Number, kMostSampled> sample;
  const std::int64_t size = std::min(std::ssize(items) / kItemsPerSampled, kMostSampled);
  const std::int64_t stretch = std::ssize(items) / size;
  for (std::int64_t i = 0; i < size; ++i) {
    sample[static_cast<std::size_t>(i)] = number_of(items[static_cast<std::size_t>(i * stretch)]);
  }
  const double part = static_cast<double>(k) / static_cast<double>(std::ssize(items));
  const double place = part * static_cast<double>(size);
  const double margin = kSampleDeviations * std::sqrt(place * (1 - part)) + 1;
  const auto low = static_cast<std::int64_t>(std::max(place - margin, 0.0));
  const auto high = std::min(static_cast<std::int64_t>(place + margin), size - 1);
  std::nth_element(sample.begin(), sample.begin() + high, sample.begin() + size);
  std::nth_element(sample.begin(), sample.begin() + low, sample.begin() + high);
  return LikelyRange<Number>{sample[static_cast<std::size_t>(low)],
                             sample[static_cast<std::size_t>(high)]};
}

// Of five items, a number that is about as far among them as the k-th is among all.
template <class Item, class NumberOf>
auto likely_pivot(std::span<const Item> items, std::int64_t k, const NumberOf& number_of) {
  using Number = std::invoke_result_t<NumberOf, const Item&>;
  constexpr std::size_t kFive = 5;
  std::array<Number, kFive> five;
  for (std::size_t i = 0; i < kFive; ++i) {
    five[i] = number_of(items[(2 * i + 1) * items.size() / (2 * kFive)]);
  }
  // A sorting network: no branch that depends on the numbers.
  constexpr std::array<std::array<std::uint8_t, 2>, 9> kExchanges = {
      {{0, 1}, {3, 4}, {2, 4}, {2, 3}, {0, 3}, {0, 2}, {1, 4}, {1, 3}, {1, 2}}};
  for (const auto [first, second] : kExchanges) {
    const Number low = std::min(five[first], five[second]);
    five[second] = std::max(five[first], five[second]);
    five[first] = low;
  }
  return five[static_cast<std::size_t>(k - 1) * kFive / items.size()];
}

// Like std::partition, at 1 ns an item whatever the items are: a mispredicted branch takes 5.
template <class Item, class InFront>
Item* partition_evenly(Item* first, Item* last, const InFront& in_front) {
  for (Item* next = first; next != last; ++next) {
    const bool front = in_front(*next);
    const Item item = *next;
    const Item other = *first;  // not std::swap, which g++ 12 makes thrice as slow here
    *next = other;
    *first = item;
    first += front;
  }
  return first;
}

// Some of the items, among which the k-th of all is in its order.
template <class Item>
struct Narrowed {
  std::span<Item> items;
  std::int64_t k;  // its place among them, from 1

  // True if the k-th is one of those in front, which then are all that is left; else they are not.
  template <class InFront>
  bool narrow(const InFront& in_front) {
    Item* const first = items.data();
    const std::int64_t front = partition_evenly(first, first + items.size(), in_front) - first;
    if (k <= front) {
      items = items.first(static_cast<std::size_t>(front));
      return true;
    }
    items = items.subspan(static_cast<std::size_t>(front));
    k -= front;
    return false;
  }

  // To those whose number is in the likely range of a sample. True if all that is left have the
  // same.
  template <class NumberOf>
  bool narrow_by_sample(const NumberOf& number_of) {
    const auto range = likely_range<Item>(items, k, number_of);
    const bool too_high = !narrow([&](const Item& item) { return number_of(item) <= range.high; });
    const bool too_low = narrow([&](const Item& item) { return number_of(item) < range.low; });
    return range.low == range.high && !too_high && !too_low;
  }

  // To few, or to those that have the number of the k-th: then true. Three to five times as fast as
  // std::nth_element from 12 items on: 4 ns an item instead of 13 to 18.
  template <class NumberOf>
  bool narrow_by(const NumberOf& number_of) {
    if (std::ssize(items) >= kSampleItemsFrom && narrow_by_sample(number_of)) return true;
    for (int i = 0; i < kMostPivots && std::ssize(items) >= kPivotItemsFrom; ++i) {
      const auto pivot = likely_pivot<Item>(items, k, number_of);
      if (narrow([&](const Item& item) { return number_of(item) < pivot; })) continue;
      if (narrow([&](const Item& item) { return number_of(item) <= pivot; })) return true;
    }
    return false;
  }
};

// Like std::nth_element: the k-th comes to place k, and those before it to the places before. k at
// least 1.
template <class Item>
void find_first(std::span<Item> items, std::int64_t k) {
  Narrowed<Item> rest{items, k};
  const bool ties = rest.narrow_by([](const Item& item) { return item.key; });
  if constexpr (requires { items.front().id; }) {
    if (ties) rest.narrow_by([](const Item& item) { return item.id; });
  }
  std::nth_element(rest.items.begin(), rest.items.begin() + (rest.k - 1), rest.items.end());
}

// Drops all but the first k, where there are more.
template <class Item>
void keep_first(std::vector<Item>& items, std::int64_t k) {
  if (std::ssize(items) <= k) return;
  if (k > 0) find_first<Item>(items, k);
  items.resize(static_cast<std::size_t>(k));
}

}  // namespace nearfield
