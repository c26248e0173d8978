// Counter-based random numbers: the i-th number depends on (seed, stream, i) alone, so that work
// can be split over any number of threads and give the same bits.
#pragma once

#include <array>
#include <cstdint>

namespace nearfield {

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC'11).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

// A sequence of its own for every (seed, stream).
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint64_t next_u64();
  double uniform();                        // [0, 1), 53 bits
  double normal();                         // mean 0, variance 1
  std::int64_t below(std::int64_t bound);  // [0, bound), bound at least 1

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t position_ = 0;
};

}  // namespace nearfield
