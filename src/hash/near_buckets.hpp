// Buckets whose numbers differ from one in few bits.
#pragma once

#include <bit>
#include <cstdint>

namespace nearfield {

// How many numbers of so many bits have so many of them set.
inline double bit_combinations(int bits, std::int64_t set) {
  double count = 1;
  for (std::int64_t i = 0; i < set; ++i) {
    count = count * static_cast<double>(bits - i) / static_cast<double>(i + 1);
  }
  return count;
}

// The next number with as many bits set; not of 0.
inline std::uint32_t next_combination(std::uint32_t mask) {
  const std::uint32_t lowest = mask & (~mask + 1);
  const std::uint32_t carried = mask + lowest;
  return ((mask ^ carried) >> (2 + std::countr_zero(lowest))) | carried;
}

// Buckets that differ from one in at most so many bits.
inline std::int64_t near_buckets(int bits, int errors) {
  double count = 0;
  for (int error = 0; error <= errors; ++error) count += bit_combinations(bits, error);
  return static_cast<std::int64_t>(count);
}

// Calls use(bucket, errors) for each of them, the nearest first.
template <class Use>
void for_each_near_bucket(std::uint32_t centre, int bits, int errors, const Use& use) {
  use(centre, 0);
  const std::uint32_t end = std::uint32_t{1} << bits;
  for (int error = 1; error <= errors; ++error) {
    for (std::uint32_t mask = (std::uint32_t{1} << error) - 1; mask < end;
         mask = next_combination(mask)) {
      use(centre ^ mask, error);
    }
  }
}

}  // namespace nearfield
