// The total order of many items at once. Item: has a key, a double, by which it is ordered first.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace nearfield {

// Below this std::sort is as fast.
inline constexpr std::int64_t kRadixFrom = 64;

// By whole numbers that bits_of() makes of items, the least digit first: a pass for each digit,
// without a branch to mispredict. A digit that all share, as the lowest of small whole numbers,
// takes none. Stable. `spare` has as many items, whose values are lost.
template <class Item, class BitsOf>
void sort_by_digits(std::span<Item> items, std::span<Item> spare, const BitsOf& bits_of) {
  constexpr int kDigitBits = 8;
  constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;
  constexpr int kDigits = sizeof(bits_of(items.front())) * CHAR_BIT / kDigitBits;
  const auto digit = [&](auto bits, int place) {
    return static_cast<std::size_t>(bits >> (place * kDigitBits)) % kDigitValues;
  };

  // How often each digit occurs; then where the next of them goes.
  std::array<std::array<std::size_t, kDigitValues>, kDigits> all_places{};
  for (const Item& item : items) {
    const auto bits = bits_of(item);
    for (int place = 0; place < kDigits; ++place) {
      ++all_places[static_cast<std::size_t>(place)][digit(bits, place)];
    }
  }
  Item* const home = items.data();
  for (int place = 0; place < kDigits; ++place) {
    auto& places = all_places[static_cast<std::size_t>(place)];
    if (places[digit(bits_of(items.front()), place)] == items.size()) continue;
    std::size_t next = 0;
    for (std::size_t& one : places) next += std::exchange(one, next);
    for (const Item& item : items) spare[places[digit(bits_of(item), place)]++] = item;
    std::swap(items, spare);
  }
  if (items.data() != home) std::copy(items.begin(), items.end(), home);
}

// Ordered as the keys are; -0 as 0.
template <class T>
auto ordered_bits(double key) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits sign = ~(std::numeric_limits<Bits>::max() >> 1);
  const auto bits = std::bit_cast<Bits>(static_cast<T>(key + 0.0));
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

// Those of equal keys, which mostly are in order already.
template <class Item>
void sort_ties(std::span<Item> items, std::span<Item> spare) {
  if (std::is_sorted(items.begin(), items.end())) return;
  if constexpr (requires { items.front().id; }) {
    if (std::ssize(items) >= kRadixFrom) {
      constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
      sort_by_digits(items, spare,
                     [](const Item& item) { return static_cast<std::uint64_t>(item.id) ^ kSign; });
      return;
    }
  }
  std::sort(items.begin(), items.end());
}

// T: float if all keys are float32 values, else double. `spare` has as many items, whose values are
// lost; none where there are fewer than kRadixFrom.
template <class T, class Item>
void sort_items(std::span<Item> items, std::span<Item> spare) {
  if (std::ssize(items) < kRadixFrom) return std::sort(items.begin(), items.end());
  // Sorted input is all that std::sort is faster at. Other input is noticed after a few items.
  if (std::is_sorted(items.begin(), items.end())) return;
  if (std::is_sorted(items.rbegin(), items.rend())) return std::reverse(items.begin(), items.end());

  sort_by_digits(items, spare, [](const Item& item) { return ordered_bits<T>(item.key); });
  for (std::size_t begin = 0; begin < items.size();) {
    std::size_t end = begin + 1;
    while (end < items.size() && items[end].key == items[begin].key) ++end;
    if (end - begin > 1) {
      sort_ties(items.subspan(begin, end - begin), spare.subspan(begin, end - begin));
    }
    begin = end;
  }
}

}  // namespace nearfield
