#include "select/sort_pairs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <limits>
#include <type_traits>

#include "core/make_room.hpp"

namespace nearfield {
namespace {

constexpr int kDigitBits = 8;
constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class T>
constexpr int kDigits = static_cast<int>(sizeof(T)) * CHAR_BIT / kDigitBits;

// Ordered as the keys are; -0 as 0.
template <class T>
Bits<T> bits_of(double key) {
  constexpr Bits<T> sign = ~(std::numeric_limits<Bits<T>>::max() >> 1);
  const auto bits = std::bit_cast<Bits<T>>(static_cast<T>(key + 0.0));
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

std::size_t digit(std::uint64_t bits, int place) {
  return static_cast<std::size_t>(bits >> (place * kDigitBits)) % kDigitValues;
}

// How often each digit occurs; then where the first of them goes.
using Places = std::array<std::size_t, kDigitValues>;

template <class T>
std::array<Places, kDigits<T>> count_digits(const std::vector<Neighbor>& pairs) {
  std::array<Places, kDigits<T>> counts{};
  for (const Neighbor& pair : pairs) {
    const Bits<T> bits = bits_of<T>(pair.key);
    for (int place = 0; place < kDigits<T>; ++place) {
      ++counts[static_cast<std::size_t>(place)][digit(bits, place)];
    }
  }
  return counts;
}

// By key alone, the least digit first: 4 or 8 passes without a branch to mispredict. A digit that
// all keys share, as the lowest of small whole numbers, takes none.
template <class T>
void sort_by_key(std::vector<Neighbor>& pairs, std::vector<Neighbor>& spare) {
  std::array<Places, kDigits<T>> counts = count_digits<T>(pairs);
  make_room(spare, pairs.size());
  for (int place = 0; place < kDigits<T>; ++place) {
    Places& places = counts[static_cast<std::size_t>(place)];
    if (places[digit(bits_of<T>(pairs.front().key), place)] == pairs.size()) continue;
    std::size_t next = 0;
    for (std::size_t& one : places) {
      const std::size_t size = one;
      one = next;
      next += size;
    }
    for (const Neighbor& pair : pairs) spare[places[digit(bits_of<T>(pair.key), place)]++] = pair;
    pairs.swap(spare);
  }
}

// Of equal keys the ids, which mostly are in order already.
void sort_ties(std::vector<Neighbor>& pairs) {
  for (auto begin = pairs.begin(); begin != pairs.end();) {
    const auto end = std::find_if(begin + 1, pairs.end(),
                                  [&](const Neighbor& pair) { return pair.key != begin->key; });
    if (!std::is_sorted(begin, end)) std::sort(begin, end);
    begin = end;
  }
}

}  // namespace

void sort_pairs(DType dtype, std::vector<Neighbor>& pairs, std::vector<Neighbor>& spare) {
  if (std::ssize(pairs) < kRadixFrom) {
    std::sort(pairs.begin(), pairs.end());
    return;
  }
  if (dtype == DType::f32) {
    sort_by_key<float>(pairs, spare);
  } else {
    sort_by_key<double>(pairs, spare);
  }
  sort_ties(pairs);
}

}  // namespace nearfield
